-- Imports one response of the ERP: writes its records, updates removed orders and counts the results.
create or replace function add_counts(one jsonb, other jsonb) returns jsonb as $$
  select coalesce(jsonb_object_agg(k.key, coalesce((one ->> k.key)::integer, 0) + coalesce((other ->> k.key)::integer, 0)), '{}')
  from (select jsonb_object_keys(one) union select jsonb_object_keys(other)) as k(key)
$$ language sql immutable;

-- When an unforeseen error occurs, such as a constraint added by a deployment, the batch is halved until only the
-- failing record is skipped.
drop function if exists import_records(text, jsonb, text[], text, timestamptz);
create or replace function import_records(
  kind text, sent jsonb, unknown_items text[], time_zone text, at timestamptz, asked_at timestamptz
) returns jsonb as $$
declare
  v_count integer := jsonb_array_length(as_list(sent));
  v_half integer := v_count / 2;
  v_state text;
  v_message text;
begin
  if v_count = 0 then
    return '{}';
  end if;
  begin
    if kind = 'customer' then
      return write_erp_customers(sent, at);
    end if;
    return write_erp_orders(sent, unknown_items, time_zone, at, asked_at);
  exception when others then
    get stacked diagnostics v_state = returned_sqlstate, v_message = message_text;
    -- Only data errors concern a record; all other database errors stop the import.
    if v_state !~ '^(22|23|OF4)' then
      raise;
    end if;
  end;
  if v_count = 1 then
    perform record_erp_failures(jsonb_build_array(jsonb_build_object(
      'kind', kind, 'number', sent #>> '{0,number}', 'id', sent #>> '{0,id}', 'revision', sent #>> '{0,revision}',
      'message', case when v_state ~ '^OF' then v_message else format('The database refuses the record (%s)', v_state) end
    )), at);
    return jsonb_build_object(case kind when 'customer' then 'customers' else 'done' end, 1, 'failed', 1);
  end if;
  return add_counts(
    import_records(kind, (
      select jsonb_agg(r.record order by r.place) from jsonb_array_elements(sent) with ordinality as r(record, place)
      where r.place <= v_half
    ), unknown_items, time_zone, at, asked_at),
    import_records(kind, (
      select jsonb_agg(r.record order by r.place) from jsonb_array_elements(sent) with ordinality as r(record, place)
      where r.place > v_half
    ), unknown_items, time_zone, at, asked_at)
  );
end;
$$ language plpgsql volatile security definer set search_path from current;

-- Orders that no longer exist in the ERP cannot be fetched again. Mapping rules apply to the stored values, and issues
-- that only the ERP could resolve are closed.
drop function if exists update_removed_orders(text[], text[], timestamptz);
create or replace function update_removed_orders(
  invoiced text[], missing text[], at timestamptz, asked_at timestamptz
) returns integer as $$
declare
  v_rules jsonb := erp_rules();
  v_numbers text[] := update_removed_orders.invoiced || update_removed_orders.missing;
  v_count integer;
begin
  perform from orders o where o.erp_order_number = any (v_numbers) order by o.erp_order_number for no key update;
  -- An order that was written after the ERP was asked is there again.
  v_numbers := array(
    select n from unnest(v_numbers) as n
    where not exists (
      select from orders o where o.erp_order_number = n and o.imported_at > update_removed_orders.asked_at)
  );
  update orders o set
    status = n.status, currency = n.currency, payment_method = n.payment_method, shipping_method = n.shipping_method,
    warehouse = n.warehouse, imported_at = update_removed_orders.at, removed_at = update_removed_orders.at
  from orders s, lateral (
    select (case when s.erp_order_number = any (update_removed_orders.invoiced) then 'INVOICED' else 'CANCELLED' end)::order_status,
      mapped(v_rules, 'currency.unmapped', s.erp_currency), mapped(v_rules, 'payment_method.unmapped', s.erp_payment_method),
      mapped(v_rules, 'shipping_method.unmapped', s.erp_shipping_method), mapped(v_rules, 'warehouse.unmapped', s.erp_warehouse)
  ) as n(status, currency, payment_method, shipping_method, warehouse)
  where s.erp_order_number = any (v_numbers) and o.id = s.id
    and (s.status, s.currency, s.payment_method, s.shipping_method, s.warehouse)
      is distinct from (n.status, n.currency, n.payment_method, n.shipping_method, n.warehouse);
  get diagnostics v_count = row_count;
  update order_lines l set kind = n.kind, vat_code = n.vat_code, warehouse = n.warehouse
  from orders s join order_lines w on w.order_id = s.id, lateral (
    select mapped(v_rules, 'line_kind.unmapped', w.erp_product_group)::order_line_kind, mapped(v_rules, 'vat_code.unmapped', w.erp_vat_code),
      mapped(v_rules, 'warehouse.unmapped', w.erp_warehouse)
  ) as n(kind, vat_code, warehouse)
  where s.erp_order_number = any (v_numbers) and l.id = w.id
    and (w.kind, w.vat_code, w.warehouse) is distinct from (n.kind, n.vat_code, n.warehouse);
  update order_import_issues i set resolved_at = update_removed_orders.at
  from orders s
  where s.erp_order_number = any (v_numbers) and i.order_id = s.id and i.resolved_at is null
    and (i.kind = 'DATA' or is_mapped(v_rules, i.code, i.key));
  perform delete_erp_failures('order', v_numbers);
  perform mark_superseded_orders(array(
    select o.customer_reference from orders o
    where o.erp_order_number = any (v_numbers) and o.customer_reference is not null order by 1
  ));
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function update_removed_orders is
  'Marks orders that no longer exist in the ERP as invoiced or cancelled; returns the number of changed orders.';

-- The response has the keys orders, customers, unreadableOrders, unreadableCustomers, unknownItems, invoiced, missing,
-- missingCustomers and askedAt, a time of this database before the ERP was asked. Imports of one tenant run one after the other.
create or replace function import_from_erp(answer jsonb, time_zone text) returns jsonb as $$
declare
  v_at timestamptz := clock_timestamp();
  v_unknown_items text[] := array(select jsonb_array_elements_text(as_list(answer -> 'unknownItems')));
  v_invoiced text[] := array(select jsonb_array_elements_text(as_list(answer -> 'invoiced')));
  v_missing text[] := array(select jsonb_array_elements_text(as_list(answer -> 'missing')));
  v_asked_at timestamptz := (answer ->> 'askedAt')::timestamptz;
  v_counts jsonb;
  v_unreadable jsonb;
begin
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.erp_import', 0));
  -- Customers come first, because orders refer to them.
  v_counts := import_records('customer', answer -> 'customers', null, null, v_at, v_asked_at);
  v_counts := add_counts(v_counts, import_records('order', answer -> 'orders', v_unknown_items, time_zone, v_at, v_asked_at));
  if v_invoiced <> '{}' or v_missing <> '{}' then
    v_counts := add_counts(v_counts, jsonb_build_object(
      'missing', cardinality(v_invoiced || v_missing), 'updated', update_removed_orders(v_invoiced, v_missing, v_at, v_asked_at)
    ));
  end if;
  perform delete_erp_failures('customer', array(select jsonb_array_elements_text(as_list(answer -> 'missingCustomers'))));
  select jsonb_agg(u.record || jsonb_build_object('kind', u.kind)) into v_unreadable
  from (
    select 'order', r from jsonb_array_elements(as_list(answer -> 'unreadableOrders')) as r
    union all
    select 'customer', r from jsonb_array_elements(as_list(answer -> 'unreadableCustomers')) as r
  ) as u(kind, record);
  if v_unreadable is not null then
    perform record_erp_failures(v_unreadable, v_at);
  end if;
  return add_counts(v_counts, jsonb_build_object(
    'done', jsonb_array_length(as_list(answer -> 'unreadableOrders')),
    'failed', jsonb_array_length(as_list(v_unreadable))
  ));
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function import_from_erp is 'Imports one response of the ERP and returns counts of the results.';

-- Links lines whose product was added to the catalogue after the order.
create or replace function link_order_lines(at_most integer) returns integer as $$
declare
  v_count integer;
begin
  with waiting as (
    select l.id, p.id as product_id
    from order_lines l join products p on p.erp_product_number = l.erp_product_number
    where l.product_id is null and l.kind = 'PRODUCT' and l.erp_product_number is not null
    order by l.id limit link_order_lines.at_most
    for no key update of l skip locked
  )
  update order_lines l set product_id = w.product_id from waiting w where l.id = w.id;
  get diagnostics v_count = row_count;
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function link_order_lines is 'Links at most `at_most` lines to products that were added after them; returns their number.';
grant execute on function link_order_lines to office_worker;
