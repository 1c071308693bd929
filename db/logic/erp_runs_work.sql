-- The worker's part of a run. A run resumes after a crash, but not after it was cancelled or failed. The queue keeps
-- runs of a kind apart only while their jobs are active.
create or replace function erp_run_wait_ms(run_id uuid) returns integer as $$
declare
  v_wait_ms integer;
begin
  perform fail_lost_erp_runs();
  select greatest(1000, 1000 * extract(epoch from coalesce(o.retry_at - clock_timestamp(), '1 second')))::integer into v_wait_ms
  from erp_sync_runs r join erp_sync_runs o
    on o.kind = r.kind and o.erp_order_number is not distinct from r.erp_order_number and o.status in ('RUNNING', 'RETRYING')
  where r.id = erp_run_wait_ms.run_id and r.status = 'QUEUED';
  return v_wait_ms;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function erp_run_wait_ms is
  'Milliseconds until a queued run may start after another one of its kind; null when it may start now.';

create or replace function begin_erp_run(run_id uuid) returns table (
  kind erp_sync_run_kind, attempts integer, cursor text, customer_cursor text
) as $$
  with begun as (
    update erp_sync_runs r set
      status = 'RUNNING', attempts = r.attempts + 1, retry_at = null, started_at = coalesce(r.started_at, clock_timestamp())
    where r.id = begin_erp_run.run_id and r.status in ('QUEUED', 'RUNNING', 'RETRYING')
    returning r.kind, r.attempts
  )
  select b.kind, b.attempts, o.cursor, c.cursor
  from begun b, erp_cursors o, erp_cursors c
  where o.entity = 'orders' and c.entity = 'customers'
$$ language sql volatile security definer set search_path from current;
comment on function begin_erp_run is 'Starts or resumes a run; no row when nothing is left to do.';

create or replace function erp_run_numbers(run_id uuid, at_most integer) returns setof text as $$
declare
  v_run erp_sync_runs;
  v_after text;
begin
  select r.* into v_run from erp_sync_runs r where r.id = erp_run_numbers.run_id;
  v_after := coalesce(v_run.position, '');
  case v_run.kind
    when 'RECHECK' then
      return query select o.erp_order_number from orders o
        where o.has_import_mapping_issue and o.erp_order_number > v_after order by o.erp_order_number limit erp_run_numbers.at_most;
    when 'DATA_RECHECK' then
      -- Also orders that could not be read, which may be gone.
      return query
        select o.erp_order_number from orders o where o.has_import_data_issue and o.erp_order_number > v_after
        union
        select f.erp_order_number from erp_import_failures f where f.erp_order_number > v_after
        order by 1 limit erp_run_numbers.at_most;
    else
      return query select v_run.erp_order_number where v_run.erp_order_number > v_after;
  end case;
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function erp_run_numbers is 'The next order numbers of a run.';

create or replace function erp_run_customers(run_id uuid, at_most integer) returns setof text as $$
  select n.number
  from erp_sync_runs r
    cross join (select substring(f.record from '^customer (.*)$') as number from erp_import_failures f) as n
  where r.id = erp_run_customers.run_id and r.kind = 'DATA_RECHECK' and n.number > coalesce(r.customer_position, '')
  order by n.number limit erp_run_customers.at_most
$$ language sql stable security definer set search_path from current;
comment on function erp_run_customers is 'The next numbers of customers that could not be read, which the recheck of data reads again.';

-- What must be fetched before a page can be imported: unknown customers, and items with neither a known category nor a
-- product.
create or replace function unknown_in_page(customers text[], items text[]) returns table (unknown_customers text[], unknown_items text[]) as $$
  select
    array(
      select distinct n from unnest(unknown_in_page.customers) as n
      where not exists (select from customers c where c.erp_customer_number = n)
    ),
    array(
      select distinct n from unnest(unknown_in_page.items) as n
      where not exists (select from products p where p.erp_product_number = n)
    )
$$ language sql stable security definer set search_path from current;
comment on function unknown_in_page is 'The numbers that are not stored yet.';

drop function if exists count_for_erp_run(uuid, jsonb, text);
create or replace function count_for_erp_run(
  run_id uuid, counts jsonb, at_position text default null, at_customer text default null
) returns boolean as $$
begin
  update erp_sync_runs r set
    orders_done = r.orders_done + coalesce((counts ->> 'done')::integer, 0) + coalesce((counts ->> 'missing')::integer, 0),
    orders_created = r.orders_created + coalesce((counts ->> 'created')::integer, 0),
    orders_updated = r.orders_updated + coalesce((counts ->> 'updated')::integer, 0),
    orders_unchanged = r.orders_unchanged + coalesce((counts ->> 'unchanged')::integer, 0),
    orders_missing = r.orders_missing + coalesce((counts ->> 'missing')::integer, 0),
    customers_done = r.customers_done + coalesce((counts ->> 'customers')::integer, 0),
    failures = r.failures + coalesce((counts ->> 'failed')::integer, 0),
    position = coalesce(at_position, r.position), customer_position = coalesce(at_customer, r.customer_position)
  where r.id = count_for_erp_run.run_id and r.status = 'RUNNING';
  return found;
end;
$$ language plpgsql volatile security definer set search_path from current;

create or replace function record_erp_is_up(entity text) returns void as $$
  update erp_cursors c set erp_is_up = true, erp_error = null, erp_seen_at = clock_timestamp()
  where c.entity = record_erp_is_up.entity;
  -- The outage is recorded at `orders`, for both entities.
  update erp_cursors c set erp_down_at = null where c.entity = 'orders' and c.erp_down_at is not null
$$ language sql volatile;

-- Imports a page and moves the cursor in one transaction. When another import moved the cursor, the run continues from
-- there. A pass covers changes up to its start, so a run that completed another run's pass still makes its own.
create or replace function import_page(
  run_id uuid, entity text, before text, after text, reached timestamptz, is_last boolean, answer jsonb, time_zone text
) returns table (goes_on boolean, cursor text) as $$
#variable_conflict use_column
declare
  v_cursor text;
  v_pass_run_id uuid;
begin
  if not count_for_erp_run(run_id, import_from_erp(answer, time_zone)) then
    -- The run was cancelled: roll back, so that the page is imported again by the next run.
    perform fail('OF409', 'The run was cancelled');
  end if;
  update erp_cursors c set
    cursor = after, cursor_at = greatest(c.cursor_at, reached),
    caught_up_at = case when is_last then clock_timestamp() else c.caught_up_at end,
    pass_run_id = case when not is_last then coalesce(c.pass_run_id, import_page.run_id) end
  where c.entity = import_page.entity and c.cursor is not distinct from before
  returning old.pass_run_id into v_pass_run_id;
  select c.cursor into v_cursor from erp_cursors c where c.entity = import_page.entity;
  perform record_erp_is_up(import_page.entity);
  return query select v_cursor is distinct from after or not is_last or coalesce(v_pass_run_id <> import_page.run_id, false),
    v_cursor;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function import_page is 'Imports a page of changes and moves the cursor.';

drop function if exists import_numbers(uuid, text, jsonb, text);
create or replace function import_numbers(
  run_id uuid, of_customers boolean, last_number text, answer jsonb, time_zone text
) returns void as $$
begin
  if not count_for_erp_run(run_id, import_from_erp(answer, time_zone), case when not of_customers then last_number end,
    case when of_customers then last_number end) then
    perform fail('OF409', 'The run was cancelled');
  end if;
  perform record_erp_is_up('orders');
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function import_numbers is 'Imports orders or customers requested by number and records the progress.';

create or replace function delete_erp_cursors() returns void as $$
  update erp_cursors set cursor = null, pass_run_id = null
$$ language sql volatile security definer set search_path from current;
comment on function delete_erp_cursors is 'Makes the next import start over, which only takes longer.';

create or replace function finish_erp_run(run_id uuid) returns void as $$
declare
  v_before erp_sync_runs;
  v_run erp_sync_runs;
begin
  select r.* into v_before from erp_sync_runs r
  where r.open_issue_groups is not null order by r.finished_at desc, r.id desc limit 1;
  -- The first run after an upgrade finds issues that earlier runs caused.
  if not found and not exists (select from erp_sync_runs r where r.status = 'SUCCEEDED') then
    v_before.open_issue_groups := 0;
    v_before.open_issue_orders := 0;
  end if;
  update erp_sync_runs r set
    status = 'SUCCEEDED', finished_at = clock_timestamp(), error = null, orders_total = r.orders_done,
    (open_issue_groups, open_issue_orders) = (
      select count(*), least(coalesce(sum(c.order_count), 0), 2147483647) from order_import_causes c where c.order_count > 0
    )
  where r.id = finish_erp_run.run_id and r.status = 'RUNNING'
  returning r.* into v_run;
  if found then
    perform notify_of_import_issues(v_before, v_run);
  end if;
  perform refresh_import_causes();
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function finish_erp_run is 'Ends a run successfully.';

create or replace function fail_erp_run(run_id uuid, reason text, retry_ms bigint, erp_is_down boolean) returns void as $$
begin
  update erp_sync_runs r set
    status = case when retry_ms is null then 'FAILED' else 'RETRYING' end::erp_sync_run_status, error = left(reason, 2000),
    finished_at = case when retry_ms is null then clock_timestamp() end,
    retry_at = clock_timestamp() + make_interval(secs => retry_ms / 1000.0)
  where r.id = fail_erp_run.run_id and r.status = 'RUNNING';
  if erp_is_down then
    update erp_cursors c set
      erp_is_up = false, erp_error = left(reason, 2000), erp_seen_at = clock_timestamp(), erp_down_at = coalesce(c.erp_down_at, clock_timestamp())
    where c.entity = 'orders';
  end if;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function fail_erp_run is
  'Records why a run stopped. It is retried after `retry_ms`, or failed when that is null.';

grant execute on function
  erp_run_wait_ms, begin_erp_run, erp_run_numbers, erp_run_customers, unknown_in_page, import_page, import_numbers, delete_erp_cursors, finish_erp_run,
  fail_erp_run
to office_worker;
