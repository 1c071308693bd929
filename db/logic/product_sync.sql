-- triggerProductSync: a job calls the workflow that imports a list of products from the ERP.
do $$ begin
  if to_regtype('trigger_product_sync_input') is null then
    create type trigger_product_sync_input as (product_ids uuid[], erp_product_numbers text[]);
    create type trigger_product_sync_payload as (
      accepted boolean, requested_count integer, accepted_count integer, accepted_at timestamptz, message text
    );
  end if;
end $$;
comment on type trigger_product_sync_input is 'The products to synchronise, 1 to 1000, in either list or both.';
comment on column trigger_product_sync_input.product_ids is 'The ids of existing products. Unknown ids are not accepted.';
comment on column trigger_product_sync_input.erp_product_numbers is
  'Product numbers of the ERP, including products that do not exist in this service yet. Surrounding spaces and duplicates are ignored.';
comment on type trigger_product_sync_payload is 'An acknowledgement of the request, not its result.';
comment on column trigger_product_sync_payload.accepted is '@notNull
Whether a synchronisation was started; false when no product was accepted.';
comment on column trigger_product_sync_payload.requested_count is '@notNull
The number of distinct products in the request.';
comment on column trigger_product_sync_payload.accepted_count is '@notNull
The number of products for which the synchronisation was started.';
comment on column trigger_product_sync_payload.accepted_at is 'When the synchronisation was started; null when it was not.';
comment on column trigger_product_sync_payload.message is '@notNull
A summary in words, with the ids that were not accepted.';

-- The first items of a list and the number of the others.
create or replace function abbreviate_list(items text[], at_most integer) returns text as $$
  select array_to_string(abbreviate_list.items[1 : abbreviate_list.at_most], ', ')
    || case when cardinality(abbreviate_list.items) > abbreviate_list.at_most
        then format(' and %s more', cardinality(abbreviate_list.items) - abbreviate_list.at_most) else '' end
$$ language sql immutable;

create or replace function trigger_product_sync(input trigger_product_sync_input) returns trigger_product_sync_payload as $$
declare
  v_ids uuid[] := array(select distinct i from unnest(trigger_product_sync.input.product_ids) as i where i is not null);
  v_numbers text[];
  v_unknown text[];
  v_bad integer;
  v_run product_sync_runs;
  v_products text;
  v_refused text;
begin
  perform require_permission('productsync.run');
  select n.place - 1 into v_bad
  from unnest(trigger_product_sync.input.erp_product_numbers) with ordinality as n(number, place)
  where not is_label(trim_to_null(n.number), 50)
  order by n.place limit 1;
  if found then
    perform fail('OF400', 'erpProductNumbers: a number has 1 to 50 printable characters',
      jsonb_build_object('path', jsonb_build_array('input', 'erpProductNumbers', v_bad)));
  end if;
  v_unknown := array(select i::text from unnest(v_ids) as i where not exists (select from products p where p.id = i) order by 1);
  v_numbers := array(
    select n.number
    from (
      select trim_to_null(s.number) as number, s.place from unnest(trigger_product_sync.input.erp_product_numbers) with ordinality as s(number, place)
      union all
      select p.erp_product_number, null from products p where p.id = any (v_ids)
    ) as n
    where n.number is not null
    group by n.number
    order by min(n.place), n.number
  );
  -- An empty list must never mean all products.
  if cardinality(v_numbers) + cardinality(v_unknown) not between 1 and 1000 then
    perform fail('OF400',
      case when cardinality(v_numbers) + cardinality(v_unknown) = 0
        then 'Name at least one product, in productIds or erpProductNumbers'
        else format('Name 1000 products at most: these are %s', cardinality(v_numbers) + cardinality(v_unknown)) end,
      '{"path": ["input"]}');
  end if;

  v_refused := case when cardinality(v_unknown) = 1 then 'There is no product with the id ' || v_unknown[1]
    else 'There are no products with the ids ' || abbreviate_list(v_unknown, 20) end;
  if cardinality(v_numbers) = 0 then
    return row(false, cardinality(v_unknown), 0, null::timestamptz, 'Nothing was started. ' || v_refused);
  end if;
  insert into product_sync_runs (erp_product_numbers, user_id, api_token_id, correlation_id)
  values (v_numbers, current_user_id(), current_token_id(), nullif(current_setting('office.correlation_id', true), ''))
  returning * into v_run;
  v_products := case when cardinality(v_numbers) = 1 then '1 product' else cardinality(v_numbers) || ' products' end;
  perform enqueue_job('product_sync', jsonb_build_object('runId', v_run.id), v_run.id::text,
    subject => v_products || ': ' || abbreviate_list(v_numbers, 5), max_attempts => 12);
  return row(true, cardinality(v_numbers) + cardinality(v_unknown), cardinality(v_numbers), v_run.created_at,
    concat_ws(' ', format('The synchronisation of %s was started.', v_products),
      case when cardinality(v_unknown) > 0 then v_refused end));
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function trigger_product_sync is '@guard productsync.run
Starts the synchronisation of the given products with the ERP. Returns only an acknowledgement; a job calls the workflow, and `myJobs` returns its state.';
grant execute on function trigger_product_sync to office_api;

create or replace function product_sync_call(run_id uuid) returns setof product_sync_runs as $$
  select r.* from product_sync_runs r where r.id = product_sync_call.run_id and r.delivered_at is null
$$ language sql stable security definer set search_path from current;
comment on function product_sync_call is 'The payload for the workflow; no row when it was delivered.';

create or replace function record_product_sync_delivery(run_id uuid) returns void as $$
  update product_sync_runs r set delivered_at = clock_timestamp() where r.id = record_product_sync_delivery.run_id
$$ language sql volatile security definer set search_path from current;
comment on function record_product_sync_delivery is 'Records that the workflow accepted a run.';
grant execute on function product_sync_call, record_product_sync_delivery to office_worker;
