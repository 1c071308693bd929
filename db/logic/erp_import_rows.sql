-- Order import: compares ERP records with stored rows. All records of a page are processed together: stage, check, then
-- write the differences. `place` is the index in the page, from 0.
do $$ begin
  if to_regtype('erp_fault') is null then
    create type erp_fault as (place integer, path text, message text);
    create type erp_customer_row as (place integer, sent jsonb, was customers, wanted customers);
    create type erp_order_row as (place integer, sent jsonb, was orders, wanted orders);
    create type erp_line_row as (place integer, item integer, sent jsonb, was order_lines, wanted order_lines);
    create type erp_issue_row as (
      place integer, kind order_import_issue_kind, code text, key text, message text, value text, path text, occurrences integer
    );
  end if;
end $$;

create or replace function erp_decimal(value text, digits integer, scale integer) returns numeric as $$
  select case
    when erp_decimal.value ~ '^-?\d{1,20}(\.\d{1,20})?$' and abs(round(erp_decimal.value::numeric, scale)) < 10::numeric ^ digits
      then round(erp_decimal.value::numeric, scale)
  end
$$ language sql immutable parallel safe;
comment on function erp_decimal is 'Converts an ERP value to a decimal, rounded to the given scale; null when it is invalid or too large.';

create or replace function erp_date(value text) returns date as $$
  select case when erp_date.value ~ '^\d{4}-\d\d-\d\d$' and pg_input_is_valid(erp_date.value, 'date') then erp_date.value::date end
$$ language sql stable parallel safe;

-- All rules as one value, {code: {key: target}}; a lookup takes a tenth of the time of a query.
create or replace function erp_rules() returns jsonb as $$
  select coalesce(jsonb_object_agg(r.code, r.targets), '{}')
  from (select r.code, jsonb_object_agg(r.key, r.target) as targets from erp_mapping_rules r group by r.code) as r
$$ language sql stable;

create or replace function mapped(rules jsonb, code text, key text) returns text as $$
  select mapped.rules -> mapped.code ->> normalize_name(mapped.key)
$$ language sql immutable parallel safe;
comment on function mapped is 'The meaning of an ERP code by the mapping rules; null without a rule or for an ignored code.';

create or replace function is_mapped(rules jsonb, code text, key text) returns boolean as $$
  select coalesce(is_mapped.rules -> is_mapped.code ? normalize_name(is_mapped.key), false)
$$ language sql immutable parallel safe;
comment on function is_mapped is 'Whether a rule exists for an ERP code, including rules to ignore it.';

create or replace function is_stale(sent timestamptz, stored timestamptz, at timestamptz) returns boolean as $$
  select coalesce(sent < stored and stored <= is_stale.at, false)
$$ language sql immutable parallel safe;
comment on function is_stale is
  'Whether a record is older than the stored one, by the ERP''s times. A stored time after `at`, when it was written or now, comes from an ERP clock that was ahead, and hides no later change.';

-- Of two records with the same number the newer one counts.
create or replace function newest_by_number(sent jsonb) returns table (place integer, record jsonb, number text) as $$
  select distinct on (i.record ->> 'number') i.place::integer - 1, i.record, i.record ->> 'number'
  from jsonb_array_elements(as_list(newest_by_number.sent)) with ordinality as i(record, place)
  order by i.record ->> 'number', as_time(i.record ->> 'lastModified') desc nulls last, i.place desc
$$ language sql stable;

create or replace function erp_customer_rows(sent jsonb, rules jsonb) returns erp_customer_row[] as $$
  select array_agg(row(s.place, r, c, w)::erp_customer_row order by s.number)
  from newest_by_number(erp_customer_rows.sent) as s
    cross join lateral (select s.record) as l(r)
    left join customers c on c.erp_customer_number = s.number
    cross join lateral jsonb_populate_record(c, jsonb_build_object(
      'id', coalesce(c.id, uuidv7()), 'erp_customer_number', s.number, 'name', coalesce(r ->> 'name', s.number),
      'email', r ->> 'email', 'phone', r ->> 'phone', 'website', r ->> 'website',
      'address_line1', r #>> '{address,line1}', 'address_line2', r #>> '{address,line2}',
      'postal_code', r #>> '{address,postalCode}', 'city', r #>> '{address,city}', 'region', r #>> '{address,region}',
      'country', r #>> '{address,country}', 'currency', mapped(rules, 'currency.unmapped', r ->> 'currencyCode'),
      'vat_number', r ->> 'vatNumber', 'payment_terms', r ->> 'paymentTermsCode',
      -- 0 in the ERP means no limit.
      'credit_limit', nullif(erp_decimal(r ->> 'creditLimit', 12, 2), 0),
      'balance_due', erp_decimal(r ->> 'balanceDue', 12, 2), 'is_blocked', r ->> 'blocked' <> 'NO' is true,
      'erp_revision', r ->> 'revision', 'source_updated_at', as_time(r ->> 'lastModified')
    ) || case when c.erased_at is null then '{}' else (select erased_values('customers', 'customers')) end) as w
$$ language sql volatile;

create or replace function erp_order_rows(sent jsonb, rules jsonb, time_zone text) returns erp_order_row[] as $$
  select array_agg(row(s.place, r, o, w)::erp_order_row order by s.number)
  from newest_by_number(erp_order_rows.sent) as s
    -- An order's warehouse is the one of most of its lines.
    cross join lateral (
      select s.record, (
        select i.line ->> 'locationCode'
        from jsonb_array_elements(as_list(s.record -> 'lines')) with ordinality as i(line, place)
        where i.line ->> 'locationCode' is not null
        group by 1 order by count(*) desc, min(i.place) limit 1
      )
      offset 0
    ) as l(r, location)
    left join orders o on o.erp_order_number = s.number
    left join customers c on c.erp_customer_number = r ->> 'customerNumber'
    cross join lateral jsonb_populate_record(o, jsonb_build_object(
      'id', coalesce(o.id, uuidv7()), 'erp_order_number', s.number, 'erp_id', r ->> 'id', 'customer_id', c.id,
      'erp_customer_number', r ->> 'customerNumber', 'customer_name', r ->> 'customerName',
      'customer_reference', r ->> 'customerReference', 'salesperson', r ->> 'salesperson',
      -- The ERP stores only the day. An order without a date gets the ERP's modification time.
      'placed_at', coalesce(
        erp_date(r ->> 'orderDate')::timestamp at time zone erp_order_rows.time_zone, o.placed_at, as_time(r ->> 'lastModified')
      ),
      'requested_delivery_date', erp_date(r ->> 'requestedDeliveryDate'),
      'status', case when r ->> 'status' = any (enum_range(null::order_status)::text[]) then r ->> 'status' end,
      'currency', mapped(rules, 'currency.unmapped', r ->> 'currencyCode'), 'erp_currency', r ->> 'currencyCode',
      'net_amount', coalesce(erp_decimal(r ->> 'netAmount', 12, 2), 0),
      'discount_amount', coalesce(erp_decimal(r ->> 'discountAmount', 12, 2), 0),
      'vat_amount', coalesce(erp_decimal(r ->> 'vatAmount', 12, 2), 0),
      'total_amount', coalesce(erp_decimal(r ->> 'totalAmount', 12, 2), 0),
      'payment_method', mapped(rules, 'payment_method.unmapped', r ->> 'paymentMethodCode'),
      'erp_payment_method', r ->> 'paymentMethodCode',
      'shipping_method', mapped(rules, 'shipping_method.unmapped', r ->> 'shipmentMethodCode'),
      'erp_shipping_method', r ->> 'shipmentMethodCode',
      'warehouse', mapped(rules, 'warehouse.unmapped', l.location), 'erp_warehouse', l.location,
      'email', r ->> 'email', 'phone', r ->> 'phone',
      'delivery_name', r #>> '{deliveryAddress,name}', 'delivery_address_line1', r #>> '{deliveryAddress,line1}',
      'delivery_address_line2', r #>> '{deliveryAddress,line2}', 'delivery_postal_code', r #>> '{deliveryAddress,postalCode}',
      'delivery_city', r #>> '{deliveryAddress,city}', 'delivery_region', r #>> '{deliveryAddress,region}',
      'delivery_country', r #>> '{deliveryAddress,country}',
      'erp_revision', r ->> 'revision', 'source_updated_at', as_time(r ->> 'lastModified'), 'removed_at', null
    ) || case when c.erased_at is null and o.erased_at is null then '{}' else (select erased_values('orders', 'customers')) end) as w
$$ language sql volatile;

-- The key for the line kind: the item's category, or its type when it has none.
create or replace function erp_product_group(line jsonb) returns text as $$
  select coalesce(line ->> 'productGroup', initcap(replace(line ->> 'type', '_', ' ')))
$$ language sql immutable parallel safe;

create or replace function erp_line_rows(staged erp_order_row[], rules jsonb) returns erp_line_row[] as $$
  select array_agg(row(r.place, l.item - 1, l.sent, o, w)::erp_line_row order by r.place, l.item)
  from unnest(erp_line_rows.staged) as r
    cross join lateral jsonb_array_elements(as_list(r.sent -> 'lines')) with ordinality as l(sent, item)
    left join order_lines o on o.order_id = (r.was).id and o.line_number = as_integer(l.sent ->> 'lineNumber')
    left join products p on p.erp_product_number = l.sent ->> 'itemNumber'
    cross join lateral (
      select erp_decimal(l.sent ->> 'vatPercent', 3, 2) as vat_percent, nullif(erp_decimal(l.sent ->> 'unitPrice', 10, 4), 0) as price
    ) as n
    cross join lateral jsonb_populate_record(o, jsonb_build_object(
      'id', coalesce(o.id, uuidv7()), 'order_id', (r.wanted).id, 'line_number', as_integer(l.sent ->> 'lineNumber'),
      'kind', mapped(rules, 'line_kind.unmapped', erp_product_group(l.sent)), 'erp_product_group', erp_product_group(l.sent),
      'product_id', p.id, 'erp_product_number', l.sent ->> 'itemNumber', 'description', l.sent ->> 'description',
      'quantity', nullif(erp_decimal(l.sent ->> 'quantity', 11, 3), 0), 'unit', l.sent ->> 'unit',
      'unit_price', case
        when r.sent -> 'pricesIncludeVat' = 'true' then round(n.price / (1 + coalesce(n.vat_percent, 0) / 100), 4)
        else n.price
      end,
      'discount_percent', erp_decimal(l.sent ->> 'discountPercent', 3, 2),
      'vat_code', mapped(rules, 'vat_code.unmapped', l.sent ->> 'vatCode'), 'erp_vat_code', l.sent ->> 'vatCode',
      'vat_percent', n.vat_percent, 'amount', erp_decimal(l.sent ->> 'amount', 12, 2),
      'warehouse', mapped(rules, 'warehouse.unmapped', l.sent ->> 'locationCode'), 'erp_warehouse', l.sent ->> 'locationCode'
    )) as w
$$ language sql volatile;

-- Checks the tables' constraints before the insert.
do $$
declare
  v_table text;
begin
  foreach v_table in array array['customers', 'orders', 'order_lines'] loop
    execute format(
      'create or replace function failed_checks(candidates %1$I[])
       returns table (place integer, attribute text, code text, message text) as
       $f$begin return query execute check_query(''%1$s'') using failed_checks.candidates; end$f$ language plpgsql stable',
      v_table
    );
  end loop;
end $$;

create or replace function erp_order_faults(staged erp_order_row[], lines erp_line_row[]) returns setof erp_fault as $$
  select (erp_order_faults.staged[f.place + 1]).place, camel_case(f.attribute), camel_case(f.attribute) || ' ' || f.message
  from failed_checks(array(select s.wanted from unnest(erp_order_faults.staged) with ordinality as s order by s.ordinality)) as f
  union all
  select r.place, a.path, a.path || ' must be a decimal below 1000000000000'
  from unnest(erp_order_faults.staged) as r,
    unnest(array['netAmount', 'discountAmount', 'vatAmount', 'totalAmount']) as a(path)
  where r.sent ->> a.path is not null and erp_decimal(r.sent ->> a.path, 12, 2) is null
  union all
  select r.place, 'status', 'status must be one of ' || array_to_string(enum_range(null::order_status), ', ')
  from unnest(erp_order_faults.staged) as r where (r.wanted).status is null
  union all
  select l.place, format('lines[%s].%s', l.item, camel_case(f.attribute)),
    format('lines[%s].%s %s', l.item, camel_case(f.attribute), f.message)
  from failed_checks(array(select s.wanted from unnest(erp_order_faults.lines) with ordinality as s order by s.ordinality)) as f,
    lateral (select (erp_order_faults.lines[f.place + 1]).place, (erp_order_faults.lines[f.place + 1]).item) as l
  union all
  select l.place, format('lines[%s].lineNumber', l.item), format('lines[%s].lineNumber is that of another line, too', l.item)
  from (
    select l.place, l.item, (l.wanted).line_number as number,
      min(l.item) over (partition by l.place, (l.wanted).line_number) as first
    from unnest(erp_order_faults.lines) as l
  ) as l
  where l.item > l.first and l.number is not null
$$ language sql stable;

-- Finds the issues of the orders. A blank code means no value; `unknown_items` exist neither in the ERP nor in the
-- catalogue.
create or replace function erp_order_issues(
  staged erp_order_row[], lines erp_line_row[], rules jsonb, unknown_items text[]
) returns erp_issue_row[] as $$
  with met (place, item, kind, code, key, message, value, path) as (
    select r.place, -1, 'MAPPING', c.code, c.key, format('No rule says what the %s "%s" means', c.what, c.key), c.key, c.path
    from unnest(erp_order_issues.staged) as r,
      lateral (values
        ('currency.unmapped', 'currency', 'currencyCode', r.sent ->> 'currencyCode'),
        ('payment_method.unmapped', 'payment method', 'paymentMethodCode', r.sent ->> 'paymentMethodCode'),
        ('shipping_method.unmapped', 'shipping method', 'shipmentMethodCode', r.sent ->> 'shipmentMethodCode')
      ) as c(code, what, path, key)
    where c.key is not null and not is_mapped(rules, c.code, c.key)
    union all
    select l.place, l.item, 'MAPPING', c.code, c.key, format('No rule says what the %s "%s" means', c.what, c.key), c.key,
      format('lines[%s].%s', l.item, c.path)
    from unnest(erp_order_issues.lines) as l,
      lateral (values
        ('line_kind.unmapped', 'product group', 'productGroup', erp_product_group(l.sent)),
        ('vat_code.unmapped', 'VAT code', 'vatCode', l.sent ->> 'vatCode'),
        ('warehouse.unmapped', 'warehouse', 'locationCode', l.sent ->> 'locationCode')
      ) as c(code, what, path, key)
    where c.key is not null and not is_mapped(rules, c.code, c.key)
    union all
    select r.place, -1, 'DATA', 'customer.missing', coalesce(r.sent ->> 'customerNumber', ''),
      coalesce('The ERP has no customer ' || (r.sent ->> 'customerNumber') || ' that can be read', 'The order names no customer'),
      r.sent ->> 'customerNumber', 'customerNumber'
    from unnest(erp_order_issues.staged) as r where (r.wanted).customer_id is null
    union all
    select r.place, -1, 'DATA', 'address.incomplete', array_to_string(a.missing, ', '),
      'The delivery address lacks ' || array_to_string(a.missing, ', '), null, 'deliveryAddress.' || a.missing[1]
    from unnest(erp_order_issues.staged) as r,
      lateral (
        select array(
          select p.part
          from (values (1, 'line1'), (2, 'postalCode'), (3, 'city'), (4, 'country')) as p(place, part)
          where r.sent -> 'deliveryAddress' ->> p.part is null
          order by p.place
        )
      ) as a(missing)
    -- Orders picked up by the customer need no address.
    where a.missing <> '{}' and (r.wanted).shipping_method is distinct from 'PICKUP'
    union all
    select l.place, l.item, 'DATA', c.code, c.key, c.message, l.sent ->> c.path, format('lines[%s].%s', l.item, c.path)
    from unnest(erp_order_issues.lines) as l,
      lateral (select l.sent ->> 'itemNumber') as i(number),
      lateral (values
        ('product.missing', coalesce(i.number, ''), 'itemNumber',
          coalesce('The ERP knows no item ' || i.number, 'The line names no item'),
          i.number is null or (l.wanted).product_id is null and i.number = any (erp_order_issues.unknown_items)),
        ('price.missing', coalesce(i.number, ''), 'unitPrice',
          coalesce('The line about item ' || i.number || ' has no price', 'The line has no price'), (l.wanted).unit_price is null),
        ('quantity.invalid', '', 'quantity', 'The line has no quantity that can be delivered', (l.wanted).quantity is null)
      ) as c(code, key, path, message, is_met)
    where c.is_met and l.sent ->> 'type' = 'ITEM' and coalesce((l.wanted).kind, 'PRODUCT') = 'PRODUCT'
  )
  select array_agg(row(
    g.place, g.kind, g.code, g.key, g.message, left(g.value, 2000), g.path, g.count
  )::erp_issue_row)
  from (
    select m.place, m.kind::order_import_issue_kind as kind, m.code, left(m.key, 300) as key, count(*)::integer as count,
      (array_agg(m.message order by m.item))[1] as message, (array_agg(m.value order by m.item))[1] as value,
      (array_agg(m.path order by m.item))[1] as path
    from met as m
    group by 1, 2, 3, 4
  ) as g
$$ language sql stable;
