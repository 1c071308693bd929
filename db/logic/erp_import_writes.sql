-- Order import: writes. A page is written completely or not at all. Invalid records are recorded in
-- `erp_import_failures` and do not stop others; unchanged rows are not touched.

-- An order is superseded by a later one of the same customer that names its number as reference.
create or replace function mark_superseded_orders(numbers text[]) returns void as $$
begin
  perform from orders o where o.erp_order_number = any (numbers) order by o.erp_order_number for no key update;
  update orders o set superseded_by_order_id = n.id
  from unnest(mark_superseded_orders.numbers) as w(number)
    join orders p on p.erp_order_number = w.number
    left join lateral (
      select s.id from orders s
      where s.customer_reference = p.erp_order_number and s.erp_customer_number = p.erp_customer_number
        and (s.placed_at, s.erp_order_number) > (p.placed_at, p.erp_order_number) and s.status <> 'CANCELLED'
      order by s.placed_at desc, s.erp_order_number desc limit 1
    ) as n on true
  where o.id = p.id and o.superseded_by_order_id is distinct from n.id;
end;
$$ language plpgsql volatile security definer set search_path from current;

create or replace function record_erp_failures(failures jsonb, at timestamptz) returns void as $$
  insert into erp_import_failures as f (record, erp_order_number, message, path, revision, first_seen_at, last_seen_at)
  select distinct on (n.record) n.record, n."orderNumber", left(n.message, 2000), left(n.path, 300), n.revision, at, at
  from (
    select left(r.kind || ' ' || coalesce(r.number, r.id, md5(concat_ws(' ', r.revision, r.path, r.message))), 200) as record,
      case r.kind when 'order' then left(r.number, 200) end as "orderNumber", r.*
    from jsonb_to_recordset(as_list(record_erp_failures.failures))
      as r(kind text, number text, id text, revision text, path text, message text)
  ) as n
  order by n.record
  on conflict (record) do update set
    message = excluded.message, path = excluded.path, revision = excluded.revision, last_seen_at = excluded.last_seen_at
  where (f.message, f.path, f.revision) is distinct from (excluded.message, excluded.path, excluded.revision)
$$ language sql volatile;
comment on function record_erp_failures is 'Records invalid records; the same failure of the same version is recorded once.';

create or replace function delete_erp_failures(kind text, numbers text[]) returns void as $$
  delete from erp_import_failures f
  where f.record = any (select delete_erp_failures.kind || ' ' || n from unnest(delete_erp_failures.numbers) as n)
$$ language sql volatile;

create or replace function write_erp_customers(sent jsonb, at timestamptz) returns jsonb as $$
declare
  v_rows erp_customer_row[];
  v_faults jsonb;
  v_failed integer[];
  v_new integer;
  v_numbers text[];
begin
  perform from customers c
  where c.erp_customer_number in (select s ->> 'number' from jsonb_array_elements(write_erp_customers.sent) as s)
  order by c.erp_customer_number for no key update;
  v_rows := erp_customer_rows(write_erp_customers.sent, erp_rules());
  select array_agg(distinct r.place), jsonb_agg(jsonb_build_object(
    'kind', 'customer', 'number', r.sent ->> 'number', 'id', r.sent ->> 'id', 'revision', r.sent ->> 'revision',
    'path', camel_case(f.attribute), 'message', camel_case(f.attribute) || ' ' || f.message
  )) into v_failed, v_faults
  from failed_checks(array(select s.wanted from unnest(v_rows) with ordinality as s order by s.ordinality)) as f,
    lateral (select (v_rows[f.place + 1]).*) as r;
  if v_faults is not null then
    perform record_erp_failures(v_faults, write_erp_customers.at);
  end if;

  insert into customers (
    id, erp_customer_number, name, email, phone, website, address_line1, address_line2, postal_code, city, region, country,
    currency, vat_number, payment_terms, credit_limit, balance_due, is_blocked, erp_revision, source_updated_at
  )
  select n.id, n.erp_customer_number, n.name, n.email, n.phone, n.website, n.address_line1, n.address_line2, n.postal_code,
    n.city, n.region, n.country, n.currency, n.vat_number, n.payment_terms, n.credit_limit, n.balance_due, n.is_blocked,
    n.erp_revision, n.source_updated_at
  from unnest(v_rows) as r cross join lateral (select (r.wanted).*) as n
  where (r.was).id is null and r.place <> all (coalesce(v_failed, '{}'))
  order by n.erp_customer_number;
  get diagnostics v_new = row_count;

  update customers c set
    name = n.name, email = n.email, phone = n.phone, website = n.website, address_line1 = n.address_line1,
    address_line2 = n.address_line2, postal_code = n.postal_code, city = n.city, region = n.region, country = n.country,
    currency = n.currency, vat_number = n.vat_number, payment_terms = n.payment_terms, credit_limit = n.credit_limit,
    balance_due = n.balance_due, is_blocked = n.is_blocked, erp_revision = n.erp_revision,
    source_updated_at = n.source_updated_at
  from unnest(v_rows) as r cross join lateral (select (r.wanted).*) as n
  where c.id = (r.was).id and r.wanted is distinct from r.was and r.place <> all (coalesce(v_failed, '{}'))
    and not is_stale(n.source_updated_at, (r.was).source_updated_at, (r.was).updated_at);

  v_numbers := array(select r.sent ->> 'number' from unnest(v_rows) as r where r.place <> all (coalesce(v_failed, '{}')));
  perform delete_erp_failures('customer', v_numbers);
  if v_new > 0 then
    -- Orders that waited for these customers have them now.
    perform from orders o where o.erp_customer_number = any (v_numbers) and o.customer_id is null
    order by o.erp_order_number for no key update;
    update orders o set customer_id = c.id
    from customers c
    where o.erp_customer_number = any (v_numbers) and o.customer_id is null and c.erp_customer_number = o.erp_customer_number;
    update order_import_issues i set resolved_at = write_erp_customers.at
    where i.code = 'customer.missing' and i.key = any (v_numbers) and i.resolved_at is null;
  end if;
  return jsonb_build_object('customers', cardinality(v_rows), 'failed', coalesce(cardinality(v_failed), 0));
end;
$$ language plpgsql volatile security definer set search_path from current set plan_cache_mode to force_custom_plan;
comment on function write_erp_customers is 'Writes customers and links waiting orders to them.';

create or replace function write_erp_lines(lines erp_line_row[], orders erp_order_row[], places integer[]) returns integer[] as $$
declare
  v_gone integer[];
  v_changed integer[];
begin
  v_changed := array(
    select distinct l.place from unnest(write_erp_lines.lines) as l
    where l.place = any (places) and l.wanted is distinct from l.was
  );
  with gone as (
    delete from order_lines o
    using unnest(write_erp_lines.orders) as r
    where o.order_id = (r.was).id and r.place = any (places) and not exists (
      select from unnest(write_erp_lines.lines) as l where (l.was).id = o.id
    )
    returning r.place
  )
  select array_agg(distinct place) into v_gone from gone;

  insert into order_lines (
    id, order_id, line_number, kind, erp_product_group, product_id, erp_product_number, description, quantity, unit, unit_price,
    discount_percent, vat_code, erp_vat_code, vat_percent, amount, warehouse, erp_warehouse
  )
  select n.id, n.order_id, n.line_number, n.kind, n.erp_product_group, n.product_id, n.erp_product_number, n.description,
    n.quantity, n.unit, n.unit_price, n.discount_percent, n.vat_code, n.erp_vat_code, n.vat_percent, n.amount, n.warehouse,
    n.erp_warehouse
  from unnest(write_erp_lines.lines) as l cross join lateral (select (l.wanted).*) as n
  where (l.was).id is null and l.place = any (places);

  update order_lines o set
    kind = n.kind, erp_product_group = n.erp_product_group, product_id = n.product_id, erp_product_number = n.erp_product_number,
    description = n.description, quantity = n.quantity, unit = n.unit, unit_price = n.unit_price,
    discount_percent = n.discount_percent, vat_code = n.vat_code, erp_vat_code = n.erp_vat_code, vat_percent = n.vat_percent,
    amount = n.amount, warehouse = n.warehouse, erp_warehouse = n.erp_warehouse
  from unnest(write_erp_lines.lines) as l cross join lateral (select (l.wanted).*) as n
  where o.id = (l.was).id and l.wanted is distinct from l.was and l.place = any (places);

  return v_changed || coalesce(v_gone, '{}');
end;
$$ language plpgsql volatile security definer set search_path from current set plan_cache_mode to force_custom_plan;

-- `changed`: orders with other changes; only their issues are seen again.
create or replace function write_erp_issues(
  issues erp_issue_row[], orders erp_order_row[], places integer[], changed integer[], at timestamptz
) returns integer[] as $$
declare
  v_changed integer[];
begin
  with resolved as (
    update order_import_issues i set resolved_at = write_erp_issues.at
    from unnest(write_erp_issues.orders) as r
    where i.order_id = (r.was).id and r.place = any (places) and i.resolved_at is null and not exists (
      select from unnest(write_erp_issues.issues) as s where s.place = r.place and s.code = i.code and s.key = i.key
    )
    returning r.place
  ),
  seen as (
    update order_import_issues i set
      kind = s.kind, message = s.message, value = s.value, path = s.path, occurrences = s.occurrences, resolved_at = null,
      last_seen_at = greatest(write_erp_issues.at, i.first_seen_at)
    from unnest(write_erp_issues.issues) as s join unnest(write_erp_issues.orders) as r on r.place = s.place
    where i.order_id = (r.was).id and i.code = s.code and i.key = s.key and r.place = any (places)
      and (
        s.place = any (write_erp_issues.changed) or i.resolved_at is not null
        or (i.kind, i.message, i.value, i.path, i.occurrences) is distinct from (s.kind, s.message, s.value, s.path, s.occurrences)
      )
    returning r.place
  ),
  added as (
    insert into order_import_issues (
      order_id, kind, code, key, message, value, path, occurrences, first_seen_at, last_seen_at, order_placed_at,
      order_is_superseded
    )
    select (r.wanted).id, s.kind, s.code, s.key, s.message, s.value, s.path, s.occurrences, write_erp_issues.at,
      write_erp_issues.at, (r.wanted).placed_at, (r.wanted).superseded_by_order_id is not null
    from unnest(write_erp_issues.issues) as s join unnest(write_erp_issues.orders) as r on r.place = s.place
    where r.place = any (places) and not exists (
      select from order_import_issues i where i.order_id = (r.was).id and i.code = s.code and i.key = s.key
    )
    returning order_id
  )
  select array_agg(distinct c.place) into v_changed
  from (
    select place from resolved union all select place from seen
    union all select r.place from added as a join unnest(write_erp_issues.orders) as r on (r.wanted).id = a.order_id
  ) as c;
  return coalesce(v_changed, '{}');
end;
$$ language plpgsql volatile security definer set search_path from current set plan_cache_mode to force_custom_plan;

-- `sent` are orders in the format of the ERP client. An order that was found to be removed after the ERP was asked for
-- these stays removed.
drop function if exists write_erp_orders(jsonb, text[], text, timestamptz);
create or replace function write_erp_orders(
  sent jsonb, unknown_items text[], time_zone text, at timestamptz, asked_at timestamptz
) returns jsonb as $$
declare
  v_rules jsonb := erp_rules();
  v_rows erp_order_row[];
  v_lines erp_line_row[];
  v_issues erp_issue_row[];
  v_faults erp_fault[];
  v_failed integer[];
  v_stale integer[];
  v_places integer[];
  v_created integer[];
  v_changed integer[];
  v_result jsonb;
begin
  -- Locks in the order of the ERP numbers, to wait for other writers without deadlocks.
  perform from orders o
  where o.erp_order_number in (
    select n from jsonb_array_elements(write_erp_orders.sent) as s, unnest(array[s ->> 'number', s ->> 'customerReference']) as n
  )
  order by o.erp_order_number for no key update;

  -- A customer who is being anonymised is read after that.
  perform from customers c
  where c.erp_customer_number in (select s ->> 'customerNumber' from jsonb_array_elements(as_list(write_erp_orders.sent)) as s)
  order by c.erp_customer_number for key share;
  v_rows := erp_order_rows(write_erp_orders.sent, v_rules, write_erp_orders.time_zone);
  v_lines := erp_line_rows(v_rows, v_rules);
  v_issues := erp_order_issues(v_rows, v_lines, v_rules, write_erp_orders.unknown_items);
  v_faults := array(select f from erp_order_faults(v_rows, v_lines) as f);
  v_failed := array(select distinct f.place from unnest(v_faults) as f);
  v_stale := array(
    select r.place from unnest(v_rows) as r
    where is_stale((r.wanted).source_updated_at, (r.was).source_updated_at, (r.was).imported_at)
      or coalesce((r.was).removed_at > write_erp_orders.asked_at, false)
  );
  v_places := array(
    select r.place from unnest(v_rows) as r where r.place <> all (v_failed) and r.place <> all (v_stale)
  );
  v_created := array(select r.place from unnest(v_rows) as r where r.place = any (v_places) and (r.was).id is null);
  v_changed := v_created || array(
    select r.place from unnest(v_rows) as r
    where r.place = any (v_places) and (r.was).id is not null and r.wanted is distinct from r.was
  );

  insert into orders (
    id, erp_order_number, erp_id, customer_id, erp_customer_number, customer_name, customer_reference, salesperson, placed_at,
    requested_delivery_date, status, currency, erp_currency, net_amount, discount_amount, vat_amount, total_amount,
    payment_method, erp_payment_method, shipping_method, erp_shipping_method, warehouse, erp_warehouse, email, phone,
    delivery_name, delivery_address_line1, delivery_address_line2, delivery_postal_code, delivery_city, delivery_region,
    delivery_country, has_import_mapping_issue, has_import_data_issue, erp_revision, source_updated_at, imported_at
  )
  select n.id, n.erp_order_number, n.erp_id, n.customer_id, n.erp_customer_number, n.customer_name, n.customer_reference,
    n.salesperson, n.placed_at, n.requested_delivery_date, n.status, n.currency, n.erp_currency, n.net_amount,
    n.discount_amount, n.vat_amount, n.total_amount, n.payment_method, n.erp_payment_method, n.shipping_method,
    n.erp_shipping_method, n.warehouse, n.erp_warehouse, n.email, n.phone, n.delivery_name, n.delivery_address_line1,
    n.delivery_address_line2, n.delivery_postal_code, n.delivery_city, n.delivery_region, n.delivery_country,
    coalesce(i.mapping, false), coalesce(i.data, false), n.erp_revision, n.source_updated_at, write_erp_orders.at
  from unnest(v_rows) as r
    cross join lateral (select (r.wanted).*) as n
    left join (
      select s.place, bool_or(s.kind = 'MAPPING') as mapping, bool_or(s.kind = 'DATA') as data
      from unnest(v_issues) as s group by s.place
    ) as i on i.place = r.place
  where r.place = any (v_created)
  order by n.erp_order_number;

  -- An order also counts as changed when only one of its lines differs.
  v_changed := array(select distinct p from unnest(v_changed || write_erp_lines(v_lines, v_rows, v_places)) as p);

  update orders o set
    erp_id = n.erp_id, customer_id = n.customer_id, erp_customer_number = n.erp_customer_number,
    customer_name = n.customer_name, customer_reference = n.customer_reference, salesperson = n.salesperson,
    placed_at = n.placed_at, requested_delivery_date = n.requested_delivery_date, status = n.status, currency = n.currency,
    erp_currency = n.erp_currency, net_amount = n.net_amount, discount_amount = n.discount_amount,
    vat_amount = n.vat_amount, total_amount = n.total_amount, payment_method = n.payment_method,
    erp_payment_method = n.erp_payment_method, shipping_method = n.shipping_method,
    erp_shipping_method = n.erp_shipping_method, warehouse = n.warehouse, erp_warehouse = n.erp_warehouse, email = n.email,
    phone = n.phone, delivery_name = n.delivery_name, delivery_address_line1 = n.delivery_address_line1,
    delivery_address_line2 = n.delivery_address_line2, delivery_postal_code = n.delivery_postal_code,
    delivery_city = n.delivery_city, delivery_region = n.delivery_region, delivery_country = n.delivery_country,
    erp_revision = n.erp_revision, source_updated_at = n.source_updated_at, imported_at = write_erp_orders.at,
    removed_at = null
  from unnest(v_rows) as r cross join lateral (select (r.wanted).*) as n
  where o.id = (r.was).id and r.place = any (v_changed);

  v_changed := array(
    select distinct p from unnest(v_changed || write_erp_issues(v_issues, v_rows, v_places, v_changed, write_erp_orders.at)) as p
  );
  if v_changed <> '{}' then
    perform mark_superseded_orders(array(
      select distinct n
      from unnest(v_rows) as r,
        unnest(array[(r.wanted).erp_order_number, (r.wanted).customer_reference, (r.was).customer_reference]) as n
      where r.place = any (v_changed) and n is not null
      order by n
    ));
  end if;

  if v_faults <> '{}' then
    perform record_erp_failures((
      select jsonb_agg(jsonb_build_object(
        'kind', 'order', 'number', r.sent ->> 'number', 'id', r.sent ->> 'id', 'revision', r.sent ->> 'revision',
        'path', f.path, 'message', f.message
      ) order by f.path)
      from unnest(v_faults) as f join unnest(v_rows) as r on r.place = f.place
    ), write_erp_orders.at);
  end if;
  perform delete_erp_failures('order', array(
    select n from unnest(v_rows) as r, unnest(array[r.sent ->> 'number', r.sent ->> 'id']) as n where r.place <> all (v_failed)
  ));

  select jsonb_build_object(
    'done', count(*), 'created', cardinality(v_created), 'updated', cardinality(v_changed) - cardinality(v_created),
    'unchanged', cardinality(v_places) - cardinality(v_changed) + cardinality(v_stale), 'failed', cardinality(v_failed)
  ) into v_result
  from unnest(v_rows);
  return v_result;
end;
$$ language plpgsql volatile security definer set search_path from current set plan_cache_mode to force_custom_plan;
comment on function write_erp_orders is
  'Writes a page of orders with their lines and issues, in a fixed number of statements. Equal or newer rows are not touched.';
