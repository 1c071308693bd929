-- Orders and what of them could not be understood.

-- Whoever minds the import sees the orders that have issues, inside of the issues' groups; to list orders takes `orders.read`.
select ensure_policy('orders', 'orders_with_import_issues', 'select', 'office_api',
  '(select has_permission(''erpsync.read'')) and (has_import_mapping_issue or has_import_data_issue)');

-- An issue repeats of its order what the index of the groups needs. The lock makes whoever changes the order at this moment
-- wait, or be waited for.
create or replace function tg_order_import_issues__copy_order() returns trigger as $$
begin
  select o.placed_at, o.superseded_by_order_id is not null into new.order_placed_at, new.order_is_superseded
  from orders o where o.id = new.order_id for no key update;
  if not found then
    -- The foreign key refuses the row, with a better message than the empty columns would have.
    new.order_placed_at := now();
    new.order_is_superseded := false;
  end if;
  return new;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_order_import_issues__copy_order is 'Copies the order''s date and whether it is superseded into its issues.';
select ensure_trigger('order_import_issues', '_200_copy_order',
  'before insert or update of order_id on %TABLE% for each row execute function tg_order_import_issues__copy_order()');

create or replace function tg_orders__copy_to_issues() returns trigger as $$
begin
  update order_import_issues i
  set order_placed_at = new.placed_at, order_is_superseded = new.superseded_by_order_id is not null
  where i.order_id = new.id;
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_orders__copy_to_issues is 'Keeps what issues repeat of their order.';
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
    -- Being seen again changes nothing for the order.
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
  -- First the locks, in one order for all; then a look at the issues, those of whoever was waited for included.
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
comment on function tg_order_import_issues__flag_orders is 'Keeps the orders'' flags: which kinds of open issues they have.';
select ensure_trigger('order_import_issues', '_500_flag_orders_' || lower(event), format(
  'after %s on %%TABLE%% referencing %s for each statement execute function tg_order_import_issues__flag_orders()', event, tables
))
from (values
  ('INSERT', 'new table as new_rows'), ('UPDATE', 'old table as old_rows new table as new_rows'),
  ('DELETE', 'old table as old_rows')
) as e(event, tables);

create or replace function orders_import_issues(placed_order orders) returns setof order_import_issues as $$
  select i.* from order_import_issues i
  where i.order_id = orders_import_issues.placed_order.id and i.resolved_at is null
  order by i.kind, i.code, i.key
$$ language sql stable rows 3;
comment on function orders_import_issues is '@computed
What of the order could not be understood at its last import: the issues that are open.';
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
comment on function import_issue_title is 'A cause of import issues as people call it.';
grant execute on function import_issue_title to office_api;

-- With the owner's rights: under a policy the index could not be searched by the kind, whose comparison PostgreSQL does not
-- hold to be free of leaks.
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
  -- The kind stands in the orders so that the index gives them: under row-level security, be it a policy that is true, the
  -- planner does not take it for settled.
  return query
    with groups as (
      -- An order has a cause once, so that its rows count the orders.
      select i.code, i.key, count(*) as orders, sum(i.occurrences) as occurrences,
        min(i.first_seen_at) as first_seen_at, max(i.last_seen_at) as last_seen_at
      from order_import_issues i
      where i.kind = order_import_issue_groups.kind and i.resolved_at is null and not i.order_is_superseded
      group by i.kind, i.code, i.key
      order by count(*) desc, max(i.last_seen_at) desc, i.code, i.key
      limit group_limit
    )
    select g.code, g.key, import_issue_title(g.code, g.key), least(g.orders, 2147483647)::integer,
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
    order by g.orders desc, g.last_seen_at desc, g.code, g.key;
end;
$$ language plpgsql stable security definer set search_path from current
  -- The index holds all that is summed up, in the order of the groups. Reading it alone takes half the time of what the
  -- planner would choose, several processes that read and hash the whole table.
  set enable_seqscan = off set max_parallel_workers_per_gather = 0;
comment on function order_import_issue_groups is
  'The causes of open import issues, those of most orders first, superseded orders left out, with up to ten orders placed last.';
grant execute on function order_import_issue_groups to office_api;

create or replace function erp_order_health() returns erp_order_health as $$
begin
  perform require_permission('erpsync.read');
  return (
    (select count(*)::integer from orders o where o.has_import_mapping_issue and o.superseded_by_order_id is null),
    (select count(*)::integer from orders o where o.has_import_data_issue and o.superseded_by_order_id is null)
  );
end;
$$ language plpgsql stable;
comment on function erp_order_health is '@guard erpsync.read
How many orders could not be understood whole at their last import; superseded orders are left out.';
grant execute on function erp_order_health to office_api;
