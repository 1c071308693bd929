-- Orders and the issues of their import.

-- Replaces the comment of the migration, whose tag @read names two permissions.
comment on table order_import_issues is '@read orders.read
@audit off because a row tells its own history: when it was seen first and last, and when it was resolved
@root off
@defaultOrder kind, code, key
An issue of an order that the import could not interpret completely.';
select protect_table('order_import_issues');
select ensure_policy('order_import_issues', 'order_import_issues_of_import', 'select', 'office_api', '(select has_permission(''erpsync.read''))');

-- Issues copy order columns for the index of the groups. The lock serializes with concurrent changes of the order.
create or replace function tg_order_import_issues__copy_order() returns trigger as $$
begin
  select o.placed_at, o.superseded_by_order_id is not null into new.order_placed_at, new.order_is_superseded
  from orders o where o.id = new.order_id for no key update;
  if not found then
    -- The foreign key rejects the row with a better message than a not-null violation.
    new.order_placed_at := now();
    new.order_is_superseded := false;
  end if;
  return new;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_order_import_issues__copy_order is 'Copies the order''s date and whether it is superseded to its issues.';
-- The import locks the order and sets both columns itself.
select ensure_trigger('order_import_issues', '_200_copy_order',
  'before insert on %TABLE% for each row when (new.order_placed_at is null or new.order_is_superseded is null)
   execute function tg_order_import_issues__copy_order()');
select ensure_trigger('order_import_issues', '_210_copy_other_order',
  'before update of order_id on %TABLE% for each row execute function tg_order_import_issues__copy_order()');

create or replace function tg_orders__copy_to_issues() returns trigger as $$
begin
  update order_import_issues i
  set order_placed_at = new.placed_at, order_is_superseded = new.superseded_by_order_id is not null
  where i.order_id = new.id;
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_orders__copy_to_issues is 'Updates the order columns copied to issues.';
select ensure_trigger('orders', '_500_copy_to_issues',
  'after update of placed_at, superseded_by_order_id on %TABLE% for each row
   when (new.placed_at <> old.placed_at or (new.superseded_by_order_id is null) <> (old.superseded_by_order_id is null))
   execute function tg_orders__copy_to_issues()');

create or replace function tg_order_import_issues__flag_orders() returns trigger as $$
declare
  v_orders uuid[];
begin
  if tg_op = 'INSERT' then
    v_orders := array(select distinct n.order_id from new_rows n);
  elsif tg_op = 'DELETE' then
    v_orders := array(select distinct o.order_id from old_rows o);
  else
    -- A later `last_seen_at` changes nothing in the order.
    v_orders := array(
      (select n.order_id from (
        select id, order_id, kind, resolved_at is null from new_rows
        except select id, order_id, kind, resolved_at is null from old_rows
      ) as n)
      union
      (select o.order_id from (
        select id, order_id, kind, resolved_at is null from old_rows
        except select id, order_id, kind, resolved_at is null from new_rows
      ) as o)
    );
  end if;
  -- Locks in a fixed order first; the next statement then sees the issues committed by concurrent transactions.
  perform from orders o where o.id = any (v_orders) order by o.id for no key update;
  update orders o set has_import_mapping_issue = f.mapping, has_import_data_issue = f.data
  from (
    select w.id, coalesce(bool_or(i.kind = 'MAPPING'), false) as mapping, coalesce(bool_or(i.kind = 'DATA'), false) as data
    from unnest(v_orders) as w(id)
    left join order_import_issues i on i.order_id = w.id and i.resolved_at is null
    group by w.id
  ) as f
  where o.id = f.id and (o.has_import_mapping_issue, o.has_import_data_issue) is distinct from (f.mapping, f.data);
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_order_import_issues__flag_orders is 'Updates the orders'' flags for open issues of each kind.';
select ensure_trigger('order_import_issues', '_500_flag_orders_' || lower(event), format(
  'after %s on %%TABLE%% referencing %s for each statement execute function tg_order_import_issues__flag_orders()', event, tables
))
from (values
  ('INSERT', 'new table as new_rows'), ('UPDATE', 'old table as old_rows new table as new_rows'),
  ('DELETE', 'old table as old_rows')
) as e(event, tables);

-- Keeps counts per cause by adding and subtracting the rows of each statement. Rows with a count of 0 stay, so that
-- concurrent transactions always lock the same row.
do $$ begin
  if to_regtype('import_cause_change') is null then
    create type import_cause_change as (
      kind order_import_issue_kind, code text, key text, orders bigint, occurrences bigint, first_added timestamptz,
      last_added timestamptz, first_removed timestamptz, last_removed timestamptz
    );
  end if;
end $$;
create or replace function tg_order_import_issues__count_causes() returns trigger as $$
declare
  v_changes import_cause_change[];
begin
  if tg_op = 'INSERT' then
    v_changes := array(
      select row(n.kind, n.code, n.key, count(*), sum(n.occurrences), min(n.first_seen_at), max(n.last_seen_at), null, null)
        ::import_cause_change
      from new_rows n where n.resolved_at is null and not n.order_is_superseded
      group by n.kind, n.code, n.key
    );
  elsif tg_op = 'DELETE' then
    v_changes := array(
      select row(o.kind, o.code, o.key, -count(*), -sum(o.occurrences), null, null, min(o.first_seen_at), max(o.last_seen_at))
        ::import_cause_change
      from old_rows o where o.resolved_at is null and not o.order_is_superseded
      group by o.kind, o.code, o.key
    );
  else
    v_changes := array(
      select row(
        c.kind, c.code, c.key, sum(c.sign), sum(c.sign * c.occurrences),
        min(c.first_seen_at) filter (where c.sign = 1), max(c.last_seen_at) filter (where c.sign = 1),
        min(c.first_seen_at) filter (where c.sign = -1), max(c.last_seen_at) filter (where c.sign = -1)
      )::import_cause_change
      from (
        select 1, n.kind, n.code, n.key, n.occurrences, n.first_seen_at, n.last_seen_at
        from new_rows n where n.resolved_at is null and not n.order_is_superseded
        union all
        select -1, o.kind, o.code, o.key, o.occurrences, o.first_seen_at, o.last_seen_at
        from old_rows o where o.resolved_at is null and not o.order_is_superseded
      ) as c(sign, kind, code, key, occurrences, first_seen_at, last_seen_at)
      group by c.kind, c.code, c.key
    );
  end if;
  if v_changes = '{}' then
    return null;
  end if;
  insert into order_import_causes (kind, code, key, order_count, occurrences, first_seen_at, last_seen_at)
  select c.kind, c.code, c.key, 0, 0, 'infinity', '-infinity' from unnest(v_changes) as c order by c.kind, c.code, c.key
  on conflict (kind, code, key) do nothing;
  perform from order_import_causes g join unnest(v_changes) as c using (kind, code, key)
  order by g.kind, g.code, g.key for no key update of g;
  update order_import_causes g set
    order_count = g.order_count + c.orders,
    occurrences = g.occurrences + c.occurrences,
    first_seen_at = case when g.order_count + c.orders = 0 then 'infinity' else least(g.first_seen_at, c.first_added) end,
    last_seen_at = case when g.order_count + c.orders = 0 then '-infinity' else greatest(g.last_seen_at, c.last_added) end,
    is_exact = g.order_count + c.orders = 0 or g.is_exact
      and (c.first_removed <= g.first_seen_at and coalesce(c.first_added > c.first_removed, true)) is not true
      and (c.last_removed >= g.last_seen_at and coalesce(c.last_added < c.last_removed, true)) is not true
  from unnest(v_changes) as c
  where g.kind = c.kind and g.code = c.code and g.key = c.key;
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_order_import_issues__count_causes is 'Updates the counts of the causes of open issues.';
select ensure_trigger('order_import_issues', '_600_count_causes_' || lower(event), format(
  'after %s on %%TABLE%% referencing %s for each statement execute function tg_order_import_issues__count_causes()', event, tables
))
from (values
  ('INSERT', 'new table as new_rows'), ('UPDATE', 'old table as old_rows new table as new_rows'),
  ('DELETE', 'old table as old_rows')
) as e(event, tables);

-- The times of a cause when its counts cannot provide them.
create or replace function import_cause_times(cause order_import_causes)
returns table (first_seen_at timestamptz, last_seen_at timestamptz) as $$
  select min(i.first_seen_at), max(i.last_seen_at)
  from order_import_issues i
  where i.kind = cause.kind and i.code = cause.code and i.key = cause.key and i.resolved_at is null and not i.order_is_superseded
$$ language sql stable;

create or replace function refresh_import_causes() returns void as $$
declare
  v_cause order_import_causes;
begin
  for v_cause in select * from order_import_causes c where not c.is_exact order by c.kind, c.code, c.key for no key update loop
    update order_import_causes c set first_seen_at = t.first_seen_at, last_seen_at = t.last_seen_at, is_exact = true
    from import_cause_times(v_cause) as t
    where c.kind = v_cause.kind and c.code = v_cause.code and c.key = v_cause.key and t.first_seen_at is not null;
  end loop;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function refresh_import_causes is 'Recomputes the times of causes that are not exact.';

create or replace function orders_import_issues(placed_order orders) returns setof order_import_issues as $$
  select i.* from order_import_issues i
  where i.order_id = orders_import_issues.placed_order.id and i.resolved_at is null
  order by i.kind, i.code, i.key
$$ language sql stable rows 3;
comment on function orders_import_issues is '@computed
The open issues of the order from its last import.';
grant execute on function orders_import_issues to office_api;

create or replace function import_issue_title(code text, key text) returns text as $$
  select concat_ws(': ', coalesce(t.title, import_issue_title.code), nullif(import_issue_title.key, ''))
  from (select) as one
  left join (values
    ('line_kind.unmapped', 'Product group without a line kind'),
    ('payment_method.unmapped', 'Payment method without a mapping'),
    ('shipping_method.unmapped', 'Shipping method without a mapping'),
    ('vat_code.unmapped', 'VAT code without a mapping'),
    ('currency.unmapped', 'Currency without a mapping'),
    ('warehouse.unmapped', 'Warehouse without a mapping'),
    ('product.missing', 'Product missing'),
    ('customer.missing', 'Customer missing'),
    ('price.missing', 'Price missing'),
    ('address.incomplete', 'Address incomplete'),
    ('quantity.invalid', 'Quantity invalid')
  ) as t(code, title) on t.code = import_issue_title.code
$$ language sql immutable parallel safe;
comment on function import_issue_title is 'The title of a cause of import issues.';
grant execute on function import_issue_title to office_api;

-- Security definer: under row-level security the index could not be used, because comparing `kind` is not leakproof.
create or replace function order_import_issue_groups(kind order_import_issue_kind, group_limit integer)
returns table (
  code text, key text, title text, order_count integer, occurrences integer, first_seen_at timestamptz,
  last_seen_at timestamptz, sample_message text, sample_value text, sample_order_ids uuid[]
) as $$
#variable_conflict use_column
begin
  perform require_permission('erpsync.read');
  if group_limit is null or group_limit not between 1 and 200 then
    perform fail('OF400', 'limit must be from 1 to 200', '{"path": ["limit"]}');
  end if;
  -- Repeats `kind` in the order by clause, so that the planner uses the index under row-level security as well.
  return query
    with smallest as (
      select coalesce(min(c.order_count), 1) as order_count
      from (
        select c.order_count from order_import_causes c
        where c.kind = order_import_issue_groups.kind and c.order_count > 0
        order by c.kind, c.order_count desc limit group_limit
      ) as c
    ),
    groups as (
      -- Includes ties with the last group until their exact times are known.
      select c.code, c.key, c.order_count, c.occurrences, t.first_seen_at, t.last_seen_at
      from order_import_causes c, smallest, lateral (
        select c.first_seen_at, c.last_seen_at where c.is_exact
        union all
        select e.first_seen_at, e.last_seen_at from import_cause_times(c) as e where not c.is_exact
      ) as t(first_seen_at, last_seen_at)
      where c.kind = order_import_issue_groups.kind and c.order_count >= smallest.order_count
      order by c.order_count desc, t.last_seen_at desc, c.code, c.key
      limit group_limit
    )
    select g.code, g.key, import_issue_title(g.code, g.key), least(g.order_count, 2147483647)::integer,
      least(g.occurrences, 2147483647)::integer, g.first_seen_at, g.last_seen_at, s.message, s.value,
      array(
        select i.order_id from order_import_issues i
        where i.kind = order_import_issue_groups.kind and i.resolved_at is null and not i.order_is_superseded
          and i.code = g.code and i.key = g.key
        order by i.kind, i.code, i.key, i.order_placed_at desc, i.order_id
        limit 10
      )
    from groups g,
      lateral (
        select i.message, i.value from order_import_issues i
        where i.kind = order_import_issue_groups.kind and i.resolved_at is null and not i.order_is_superseded
          and i.code = g.code and i.key = g.key
        order by i.kind, i.code, i.key, i.order_placed_at desc, i.order_id
        limit 1
      ) as s
    order by g.order_count desc, g.last_seen_at desc, g.code, g.key;
end;
$$ language plpgsql stable security definer set search_path from current
  -- Indexes provide the rows in the required order.
  set enable_seqscan = off set max_parallel_workers_per_gather = 0;
comment on function order_import_issue_groups is
  'The causes of open import issues without superseded orders, most orders first, with up to ten of the latest orders.';
grant execute on function order_import_issue_groups to office_api;

create or replace function sample_orders(order_ids uuid[]) returns setof orders as $$
declare
  v_columns text[] := array['id'] || regexp_split_to_array(btrim(table_tags('orders') ->> 'summary'), '\s+');
begin
  perform require_permission('erpsync.read');
  if has_permission('orders.read') then
    return query
      select o.* from unnest(sample_orders.order_ids) with ordinality as s(id, place) join orders o on o.id = s.id
      order by s.place;
  else
    return query
      select shown.*
      from unnest(sample_orders.order_ids) with ordinality as s(id, place) join orders o on o.id = s.id,
        lateral (
          select jsonb_object_agg(c.key, c.value) as summary from jsonb_each(to_jsonb(o)) as c where c.key = any (v_columns)
        ) as c,
        jsonb_populate_record(null::orders, c.summary) as shown
      where o.has_import_mapping_issue or o.has_import_data_issue
      order by s.place;
  end if;
end;
$$ language plpgsql stable security definer set search_path from current rows 10;
comment on function sample_orders is
  'The orders of import issues. Without `orders.read`, all columns except the table''s `@summary` are null.';
grant execute on function sample_orders to office_api;

create or replace function erp_order_health() returns erp_order_health as $$
begin
  perform require_permission('erpsync.read');
  return (
    (select count(*)::integer from orders o where o.has_import_mapping_issue and o.superseded_by_order_id is null),
    (select count(*)::integer from orders o where o.has_import_data_issue and o.superseded_by_order_id is null)
  );
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function erp_order_health is '@guard erpsync.read
The numbers of orders with open issues from their last import, without superseded orders.';
grant execute on function erp_order_health to office_api;
