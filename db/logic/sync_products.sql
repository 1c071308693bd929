-- The ERP's products, up to 1000 in one call. Everything here works on all rows at once: the number of statements does not
-- depend on the number of rows. First each row of the call is laid beside what is stored (`was`) as what it asks for
-- (`wanted`); then all of it is checked; only then is anything written, and only what differs.
-- `row_no` and `item_no` are places in the call's lists, counted from 0; a `wanted` of null asks for removal.
do $$ begin
  if to_regtype('sync_error') is null then
    create type sync_error as (row_no integer, code text, path jsonb, message text);
    create type sync_row as (row_no integer, sent jsonb, was products, wanted products);
    create type sync_price as (row_no integer, item_no integer, sent jsonb, was product_prices, wanted product_prices);
    create type sync_image as (row_no integer, item_no integer, sent jsonb, was product_images, wanted product_images);
    create type sync_rating as (
      row_no integer, item_no integer, sent jsonb, reviewer text, was product_ratings, wanted product_ratings
    );
  end if;
end $$;

-- Values arrive as text; what cannot be one becomes null, which the checks then report.
create or replace function as_integer(value text) returns integer as $$
  select case
    when as_integer.value ~ '^-?\d{1,10}$' and as_integer.value::bigint between -2147483648 and 2147483647
      then as_integer.value::integer
  end
$$ language sql immutable parallel safe;

create or replace function as_decimal(value text, digits integer) returns numeric as $$
  select case
    when as_decimal.value ~ '^\d{1,20}(\.\d{1,2}0{0,8})?$'
      and char_length(split_part(ltrim(as_decimal.value, '0'), '.', 1)) <= as_decimal.digits
      then as_decimal.value::numeric
  end
$$ language sql immutable parallel safe;
comment on function as_decimal is
  'A decimal with so many digits before the point and two behind it at most; more would have to be rounded, which is not ours to do.';

create or replace function as_time(value text) returns timestamptz as $$
  select case
    when as_time.value ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)$'
      and pg_input_is_valid(as_time.value, 'timestamptz')
      then as_time.value::timestamptz
  end
$$ language sql stable parallel safe;

create or replace function as_list(value jsonb) returns jsonb as $$
  select case when jsonb_typeof(as_list.value) = 'array' then as_list.value else '[]' end
$$ language sql immutable parallel safe;

create or replace function is_public_address(url text) returns boolean as $$
  select coalesce(
    host ~* '^([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?\.?$'
      and host !~* '(^|\.)(localhost|localdomain|local|internal|intranet|private|corp|home|lan|arpa)\.?$',
    false
  )
  from (select substring(is_public_address.url from '^https://([^/?#:\s]+)(?::\d{1,5})?(?:[/?#]|$)')) as a(host)
$$ language sql immutable parallel safe;
comment on function is_public_address is
  'Whether an https address names a host of the public internet: no IP address in any notation, no name without a dot, no internal domain.';

-- The rules that the table itself holds, asked before it would refuse, so that they are written once: as constraints.
create or replace function check_rules(relation regclass) returns table (attribute text, condition text, message text) as $$
  select a.attname, pg_get_expr(k.conbin, k.conrelid), obj_description(k.oid, 'pg_constraint')
  from pg_constraint k join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
  where k.conrelid = check_rules.relation and k.contype = 'c'
  union all
  select a.attname, format('%I is not null', a.attname), 'must be given'
  from pg_attribute a
  where a.attrelid = check_rules.relation and a.attnum > 0 and not a.attisdropped and a.attnotnull
    and a.attname !~ '(^id|_id|^created_at|^updated_at)$'
$$ language sql stable;
comment on function check_rules is 'The conditions on single rows of a table, each with the column that it is about and its message for people.';

create or replace function failed_checks(candidates anyarray)
returns table (place integer, attribute text, code text, message text) as $$
declare
  v_table regclass := (
    select typrelid from pg_type where typarray = pg_typeof(failed_checks.candidates)::oid
  );
begin
  return query execute (
    select format(
      'select r.place::integer - 1, k.attribute, case k.message when %L then %L else %L end, k.message
       from unnest($1) with ordinality as r(%s, place),
         lateral (values %s) as k(attribute, holds, message)
       where not k.holds',
      'must be given', 'REQUIRED', 'INVALID',
      (
        select string_agg(quote_ident(attname), ', ' order by attnum)
        from pg_attribute where attrelid = v_table and attnum > 0 and not attisdropped
      ),
      string_agg(format('(%L, %s, %L)', c.attribute, c.condition, c.message), ', ')
    )
    from check_rules(v_table) as c
  ) using failed_checks.candidates;
end;
$$ language plpgsql stable;
comment on function failed_checks is 'Which of the rows a table''s constraints would refuse, and why; places count from 0.';

create or replace function column_message(relation regclass, attribute text, otherwise text) returns text as $$
  select coalesce(
    (select c.message from check_rules(relation) as c where c.attribute = column_message.attribute and c.message <> 'must be given' limit 1),
    otherwise
  )
$$ language sql stable;

create or replace function sync_rows(input jsonb) returns sync_row[] as $$
  select array_agg(row(r.place - 1, r.sent, p, w)::sync_row order by r.place)
  from jsonb_array_elements(sync_rows.input) with ordinality as r(sent, place)
    cross join lateral (
      select case when jsonb_typeof(r.sent -> 'fields') = 'object' then r.sent -> 'fields' else '{}' end
    ) as g(given)
    cross join lateral jsonb_to_record(g.given) as f(
      name text, vintage text, "wineType" text, producer text, "grapeVariety" text, country text, province text,
      region text, description text, "alcoholPercent" text, "bottleSizeMl" text, "stockQuantity" text, "isActive" jsonb
    )
    left join products p on p.erp_product_number = r.sent ->> 'erpProductNumber'
    left join wine_types t on lower(t.name) = lower(tidy(f."wineType"))
    cross join lateral jsonb_populate_record(p, jsonb_build_object(
      'id', coalesce(p.id, uuidv7()),
      'erp_product_number', r.sent ->> 'erpProductNumber',
      'source_updated_at', coalesce(as_time(r.sent ->> 'sourceUpdatedAt'), p.source_updated_at),
      'name', case when given ? 'name' then tidy(f.name) else p.name end,
      'vintage', case when given ? 'vintage' then as_integer(f.vintage) else p.vintage end,
      'wine_type_id', case when given ? 'wineType' then t.id else p.wine_type_id end,
      'producer', case when given ? 'producer' then tidy(f.producer) else p.producer end,
      'grape_variety', case when given ? 'grapeVariety' then tidy(f."grapeVariety") else p.grape_variety end,
      'country', case when given ? 'country' then tidy(f.country) else p.country end,
      'province', case when given ? 'province' then tidy(f.province) else p.province end,
      'region', case when given ? 'region' then tidy(f.region) else p.region end,
      'description', case when given ? 'description' then tidy(f.description) else p.description end,
      'alcohol_percent',
        case when given ? 'alcoholPercent' then as_decimal(f."alcoholPercent", 2) else p.alcohol_percent end,
      'bottle_size_ml', case when given ? 'bottleSizeMl' then as_integer(f."bottleSizeMl") else p.bottle_size_ml end,
      'stock_quantity', case when given ? 'stockQuantity' then as_integer(f."stockQuantity") else p.stock_quantity end,
      'is_active', case
        when not given ? 'isActive' then coalesce(p.is_active, true)
        when jsonb_typeof(f."isActive") = 'boolean' then f."isActive"::boolean
      end
    )) as w
$$ language sql volatile;

create or replace function sync_prices(staged sync_row[]) returns sync_price[] as $$
  select array_agg(row(s.row_no, s.item_no, s.sent, s.was, s.wanted)::sync_price)
  from (
    select r.row_no, i.place - 1, i.sent, o, w
    from unnest(sync_prices.staged) as r
      cross join lateral jsonb_array_elements(as_list(r.sent -> 'prices')) with ordinality as i(sent, place)
      left join product_prices o
        on o.product_id = (r.was).id and o.type = i.sent ->> 'type' and o.currency = i.sent ->> 'currency'
      left join lateral jsonb_populate_record(o, jsonb_build_object(
        'product_id', (r.wanted).id, 'type', i.sent ->> 'type', 'currency', i.sent ->> 'currency',
        'amount', as_decimal(i.sent ->> 'amount', 9)
      )) as w on i.sent -> 'amount' <> 'null'
    union all
    select r.row_no, null, null, o, null
    from unnest(sync_prices.staged) as r join product_prices o on o.product_id = (r.was).id
    where r.sent -> 'prices' = 'null'
  ) as s(row_no, item_no, sent, was, wanted)
$$ language sql stable;

-- Merged images keep their places, and new ones come after them; a replacing list says all there is to say.
create or replace function sync_images(staged sync_row[]) returns sync_image[] as $$
  select array_agg(row(s.row_no, s.item_no, s.sent, s.was, s.wanted)::sync_image)
  from (
    select r.row_no, i.place - 1, i.sent, o, w
    from unnest(sync_images.staged) as r
      cross join lateral (select r.sent #>> '{images,mode}' = 'REPLACE' is true) as m(replace)
      cross join lateral (
        select i.sent, i.place, tidy(i.sent ->> 'url') as url
        from jsonb_array_elements(as_list(r.sent #> '{images,items}')) with ordinality as i(sent, place)
      ) as i
      left join product_images o on o.product_id = (r.was).id and o.url = i.url
      cross join lateral jsonb_populate_record(o, jsonb_build_object(
        'product_id', (r.wanted).id, 'url', i.url,
        'alt_text', case when m.replace or i.sent ? 'altText' then tidy(i.sent ->> 'altText') else o.alt_text end,
        'position', case
          when i.sent -> 'position' <> 'null' then as_integer(i.sent ->> 'position')
          when m.replace then i.place - 1
          when o.id is not null then o.position
          else i.place - 1 + (select coalesce(max(position) + 1, 0) from product_images where product_id = (r.was).id)
        end
      )) as w
    union all
    select r.row_no, null, null, o, null
    from unnest(sync_images.staged) as r join product_images o on o.product_id = (r.was).id
    where r.sent -> 'images' = 'null' or (
      r.sent #>> '{images,mode}' = 'REPLACE'
      and not exists (
        select from jsonb_array_elements(as_list(r.sent #> '{images,items}')) as i(sent) where tidy(i.sent ->> 'url') = o.url
      )
    )
  ) as s(row_no, item_no, sent, was, wanted)
$$ language sql stable;

create or replace function sync_ratings(staged sync_row[]) returns sync_rating[] as $$
  select array_agg(row(s.row_no, s.item_no, s.sent, s.reviewer, s.was, s.wanted)::sync_rating)
  from (
    select r.row_no, i.place - 1, i.sent, i.reviewer, o, w
    from unnest(sync_ratings.staged) as r
      cross join lateral (
        select i.sent, i.place, tidy(i.sent ->> 'reviewerName') as reviewer, as_integer(i.sent ->> 'year') as year
        from jsonb_array_elements(as_list(r.sent -> 'ratings')) with ordinality as i(sent, place)
      ) as i
      left join reviewers v on lower(v.name) = lower(i.reviewer)
      left join product_ratings o
        on o.product_id = (r.was).id and o.reviewer_id = v.id and o.year is not distinct from i.year
      cross join lateral jsonb_populate_record(o, jsonb_build_object(
        'product_id', (r.wanted).id, 'reviewer_id', v.id, 'year', i.year,
        'points', as_decimal(i.sent ->> 'points', 3),
        'review', case when i.sent ? 'review' then tidy(i.sent ->> 'review') else o.review end
      )) as w
    union all
    select r.row_no, null, null, null, o, null
    from unnest(sync_ratings.staged) as r join product_ratings o on o.product_id = (r.was).id
    where r.sent -> 'ratings' = 'null'
  ) as s(row_no, item_no, sent, reviewer, was, wanted)
$$ language sql stable;

-- What is wrong with the rows, each with its path below the row.
create or replace function sync_row_errors(staged sync_row[]) returns setof sync_error as $$
  select r.row_no, 'DUPLICATE', '["erpProductNumber"]'::jsonb,
    format('erpProductNumber: row %s of this call has the same number', r.first + 1)
  from (
    select r.row_no, min(r.row_no) over (partition by r.sent ->> 'erpProductNumber') as first
    from unnest(sync_row_errors.staged) as r
    where r.sent ->> 'erpProductNumber' is not null
  ) as r
  where r.row_no > r.first
  union all
  select r.row_no, 'INVALID', '["sourceUpdatedAt"]', 'sourceUpdatedAt must be a time with its zone, such as 2026-01-31T12:34:56Z'
  from unnest(sync_row_errors.staged) as r
  where r.sent ->> 'sourceUpdatedAt' is not null and as_time(r.sent ->> 'sourceUpdatedAt') is null
  union all
  select r.row_no, 'INVALID', jsonb_build_array(s.section),
    case s.section
      when 'fields' then 'fields must be an object, and cannot be null: leave it out to keep all fields, or give null for each field to clear'
      else s.section || ' has the wrong shape'
    end
  from unnest(sync_row_errors.staged) as r,
    (values ('fields', 'object'), ('prices', 'array'), ('images', 'object'), ('ratings', 'array')) as s(section, shape)
  where r.sent ? s.section and jsonb_typeof(r.sent -> s.section) <> s.shape
    and (s.section = 'fields' or r.sent -> s.section <> 'null')
  union all
  select r.row_no, 'INVALID', jsonb_build_array('fields', f.key),
    f.key || ' ' || column_message('products', f.attribute, 'must be a whole number')
  from unnest(sync_row_errors.staged) as r,
    lateral (values
      ('vintage', 'vintage', (r.wanted).vintage is null),
      ('bottleSizeMl', 'bottle_size_ml', (r.wanted).bottle_size_ml is null),
      ('stockQuantity', 'stock_quantity', (r.wanted).stock_quantity is null),
      ('alcoholPercent', 'alcohol_percent', (r.wanted).alcohol_percent is null)
    ) as f(key, attribute, unreadable)
  where f.unreadable and r.sent -> 'fields' ->> f.key is not null
  union all
  select u.row_no, 'UNKNOWN_WINE_TYPE', '["fields", "wineType"]',
    format('wineType: there is no wine type "%s"%s', left(u.name, 80), '; the nearest are ' || n.names)
  from (
    select r.row_no, tidy(r.sent #>> '{fields,wineType}') as name
    from unnest(sync_row_errors.staged) as r where (r.wanted).wine_type_id is null
  ) as u
    left join lateral (
      select string_agg(t.name, ', ' order by t.place) as names
      from (
        select name, row_number() over (order by similarity(name, u.name) desc, name) as place from wine_types
      ) as t
      where t.place <= 3
    ) as n on true
  where u.name is not null
  union all
  select c.place, c.code,
    case c.attribute when 'erp_product_number' then '["erpProductNumber"]' else jsonb_build_array('fields', camel_case(c.attribute)) end,
    camel_case(c.attribute) || ' ' || c.message
  from failed_checks(array(select r.wanted from unnest(sync_row_errors.staged) as r order by r.row_no)) as c
$$ language sql stable;

create or replace function sync_price_errors(staged sync_price[]) returns setof sync_error as $$
  with sent as (
    select s.*, s.place::integer - 1 as at from unnest(sync_price_errors.staged) with ordinality as s(row_no, item_no, sent, was, wanted, place)
    where s.item_no is not null
  )
  select s.row_no, e.code, jsonb_build_array('prices', s.item_no) || e.path, e.message
  from sent as s, lateral (
    select 'REQUIRED', '["amount"]'::jsonb, 'amount must be given; null removes the price'
    where not s.sent ? 'amount'
    union all
    select 'INVALID', '["amount"]', 'amount ' || column_message('product_prices', 'amount', 'must be a decimal')
      || ', with two places at most'
    where s.sent ->> 'amount' is not null and (s.wanted).amount is null
  ) as e(code, path, message)
  union all
  select s.row_no, 'DUPLICATE', jsonb_build_array('prices', s.item_no),
    format('prices: %s in %s is in this list twice', s.type, s.currency)
  from (
    select s.row_no, s.item_no, s.sent ->> 'type' as type, s.sent ->> 'currency' as currency,
      row_number() over (partition by s.row_no, s.sent ->> 'type', s.sent ->> 'currency' order by s.item_no) as nth
    from sent as s
  ) as s
  where s.nth > 1
  union all
  select s.row_no, c.code, jsonb_build_array('prices', s.item_no, camel_case(c.attribute)), camel_case(c.attribute) || ' ' || c.message
  from failed_checks(array(select (s).wanted from unnest(sync_price_errors.staged) as s)) as c
    join sent as s on s.at = c.place
  where (s.wanted).product_id is not null and not (c.attribute = 'amount' and c.code = 'REQUIRED')
$$ language sql stable;

create or replace function sync_image_errors(staged sync_image[]) returns setof sync_error as $$
  with sent as (
    select s.*, s.place::integer - 1 as at
    from unnest(sync_image_errors.staged) with ordinality as s(row_no, item_no, sent, was, wanted, place)
    where s.item_no is not null
  )
  select s.row_no, e.code, jsonb_build_array('images', 'items', s.item_no) || e.path, e.message
  from sent as s, lateral (
    select 'INVALID', '["position"]'::jsonb, 'position must be a whole number'
    where (s.wanted).position is null
    union all
    select 'INVALID', '["url"]', 'url must name a public host: no IP address, no internal name'
    where (s.wanted).url ~ '^https://' and not is_public_address((s.wanted).url)
  ) as e(code, path, message)
  union all
  select s.row_no, 'DUPLICATE', jsonb_build_array('images', 'items', s.item_no), 'images: this address is in the list twice'
  from (
    select s.row_no, s.item_no, row_number() over (partition by s.row_no, (s.wanted).url order by s.item_no) as nth
    from sent as s where (s.wanted).url is not null
  ) as s
  where s.nth > 1
  union all
  select s.row_no, c.code, jsonb_build_array('images', 'items', s.item_no, camel_case(c.attribute)),
    camel_case(c.attribute) || ' ' || c.message
  from failed_checks(array(select (s).wanted from unnest(sync_image_errors.staged) as s)) as c
    join sent as s on s.at = c.place
  where c.attribute <> 'position'
$$ language sql stable;

create or replace function sync_rating_errors(staged sync_rating[]) returns setof sync_error as $$
  with sent as (
    select s.*, s.place::integer - 1 as at
    from unnest(sync_rating_errors.staged) with ordinality as s(row_no, item_no, sent, reviewer, was, wanted, place)
    where s.item_no is not null
  )
  select s.row_no, e.code, jsonb_build_array('ratings', s.item_no) || e.path, e.message
  from sent as s, lateral (
    select 'INVALID', '["year"]'::jsonb, 'year ' || column_message('product_ratings', 'year', 'must be a whole number')
    where s.sent ->> 'year' is not null and (s.wanted).year is null
    union all
    select case when s.sent ->> 'points' is null then 'REQUIRED' else 'INVALID' end, '["points"]',
      'points ' || column_message('product_ratings', 'points', 'must be a decimal') || ', with two places at most'
    where (s.wanted).points is null
  ) as e(code, path, message)
  union all
  select s.row_no, 'DUPLICATE', jsonb_build_array('ratings', s.item_no),
    'ratings: this reviewer has a rating of the same year in this list already'
  from (
    select s.row_no, s.item_no,
      row_number() over (partition by s.row_no, lower(s.reviewer), (s.wanted).year order by s.item_no) as nth
    from sent as s where s.reviewer is not null
  ) as s
  where s.nth > 1
  union all
  select s.row_no, c.code, jsonb_build_array('ratings', s.item_no, 'reviewerName'), 'reviewerName ' || c.message
  from failed_checks(array(
    select v
    from unnest(sync_rating_errors.staged) with ordinality as s(row_no, item_no, sent, reviewer, was, wanted, place)
      cross join lateral jsonb_populate_record(null::reviewers, jsonb_build_object('name', s.reviewer)) as v
    order by s.place
  )) as c
    join sent as s on s.at = c.place
  union all
  select s.row_no, c.code, jsonb_build_array('ratings', s.item_no, camel_case(c.attribute)), camel_case(c.attribute) || ' ' || c.message
  from failed_checks(array(select (s).wanted from unnest(sync_rating_errors.staged) as s)) as c
    join sent as s on s.at = c.place
  where not (c.attribute = 'points' and c.code = 'REQUIRED')
$$ language sql stable;

-- Writing, for the rows of the call that are to be written. Only what differs is touched.
create or replace function write_sync_prices(staged sync_price[], writes integer[]) returns void as $$
begin
  delete from product_prices p
  using unnest(write_sync_prices.staged) as s join unnest(write_sync_prices.writes) as w(row_no) using (row_no)
  where p.id = (s.was).id and (s.wanted).product_id is null;

  insert into product_prices as p (product_id, type, currency, amount)
  select n.product_id, n.type, n.currency, n.amount
  from unnest(write_sync_prices.staged) as s
    join unnest(write_sync_prices.writes) as w(row_no) using (row_no)
    cross join lateral (select (s.wanted).*) as n
  where n.product_id is not null and s.wanted is distinct from s.was
  on conflict (product_id, type, currency) do update set amount = excluded.amount;
end;
$$ language plpgsql volatile;

create or replace function write_sync_images(staged sync_image[], writes integer[]) returns void as $$
begin
  delete from product_images p
  using unnest(write_sync_images.staged) as s join unnest(write_sync_images.writes) as w(row_no) using (row_no)
  where p.id = (s.was).id and (s.wanted).product_id is null;

  insert into product_images as p (product_id, url, alt_text, position)
  select n.product_id, n.url, n.alt_text, n.position
  from unnest(write_sync_images.staged) as s
    join unnest(write_sync_images.writes) as w(row_no) using (row_no)
    cross join lateral (select (s.wanted).*) as n
  where n.product_id is not null and s.wanted is distinct from s.was
  on conflict (product_id, url) do update set alt_text = excluded.alt_text, position = excluded.position;
end;
$$ language plpgsql volatile;

-- New reviewers are added in the order of their names, so that calls which add the same ones wait for each other in one order.
create or replace function write_sync_ratings(staged sync_rating[], writes integer[]) returns void as $$
begin
  insert into reviewers (name)
  select distinct on (lower(s.reviewer)) s.reviewer
  from unnest(write_sync_ratings.staged) as s join unnest(write_sync_ratings.writes) as w(row_no) using (row_no)
  where s.reviewer is not null and (s.wanted).reviewer_id is null
  order by lower(s.reviewer), s.row_no, s.item_no
  on conflict (lower(name)) do nothing;

  delete from product_ratings p
  using unnest(write_sync_ratings.staged) as s join unnest(write_sync_ratings.writes) as w(row_no) using (row_no)
  where p.id = (s.was).id and (s.wanted).product_id is null;

  insert into product_ratings as p (product_id, reviewer_id, year, points, review)
  select n.product_id, coalesce(n.reviewer_id, v.id), n.year, n.points, n.review
  from unnest(write_sync_ratings.staged) as s
    join unnest(write_sync_ratings.writes) as w(row_no) using (row_no)
    cross join lateral (select (s.wanted).*) as n
    left join reviewers v on n.reviewer_id is null and lower(v.name) = lower(s.reviewer)
  where n.product_id is not null and s.wanted is distinct from s.was
  on conflict (product_id, reviewer_id, year) do update set points = excluded.points, review = excluded.review;
end;
$$ language plpgsql volatile;

create or replace function sync_products(input jsonb) returns jsonb as $$
declare
  v_sent jsonb := sync_products.input -> 'products';
  v_dry_run boolean := coalesce((sync_products.input ->> 'dryRun')::boolean, false);
  v_rows sync_row[];
  v_prices sync_price[];
  v_images sync_image[];
  v_ratings sync_rating[];
  v_errors sync_error[];
  v_statuses text[];
  v_writes integer[] := '{}';
  v_new integer;
  v_result jsonb;
begin
  perform require_permission('products.create', 'products.update');
  if jsonb_array_length(as_list(v_sent)) not between 1 and 1000 then
    perform fail('OF400', 'products: give 1 to 1000 products in a call', '{"path": ["input", "products"]}');
  end if;
  if exists (
    select from jsonb_array_elements(v_sent) as s(sent) where s.sent ? 'ratings' and s.sent -> 'ratings' <> '[]'
  ) then
    perform require_permission('reviewers.read', 'reviewers.create');
  end if;

  if not v_dry_run then
    -- Calls that share a product queue, always in the order of these 32 groups of numbers, so that they neither miss each
    -- other's new products nor lock each other out. Whoever else changes a product waits for its row.
    perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.sync_products.' || g.number_group, 0))
    from (
      select distinct abs(hashtext(s.sent ->> 'erpProductNumber') % 32) as number_group
      from jsonb_array_elements(v_sent) as s(sent) where s.sent ->> 'erpProductNumber' is not null
      order by 1
    ) as g;
    perform from products p
    where p.erp_product_number in (select s.sent ->> 'erpProductNumber' from jsonb_array_elements(v_sent) as s(sent))
    order by p.erp_product_number
    for no key update;
  end if;

  v_rows := sync_rows(v_sent);
  v_prices := sync_prices(v_rows);
  v_images := sync_images(v_rows);
  v_ratings := sync_ratings(v_rows);
  v_errors := array(
    select e from (
      select * from sync_row_errors(v_rows) union all select * from sync_price_errors(v_prices)
      union all select * from sync_image_errors(v_images) union all select * from sync_rating_errors(v_ratings)
    ) as e
  );
  v_statuses := array(
    select case
      when e.row_no is not null then 'FAILED'
      when (r.wanted).source_updated_at < (r.was).source_updated_at then 'STALE'
      when (r.was).id is null then 'CREATED'
      when r.wanted is distinct from r.was or c.row_no is not null then 'UPDATED'
      else 'UNCHANGED'
    end
    from unnest(v_rows) as r
      left join (select distinct row_no from unnest(v_errors)) as e on e.row_no = r.row_no
      left join (
        select row_no from unnest(v_prices) where wanted is distinct from was
        union select row_no from unnest(v_images) where wanted is distinct from was
        union select row_no from unnest(v_ratings) where wanted is distinct from was
      ) as c on c.row_no = r.row_no
    order by r.row_no
  );
  if sync_products.input ->> 'errorPolicy' = 'REJECT_ALL' and 'FAILED' = any (v_statuses) then
    v_errors := v_errors || array(
      select row(s.place - 1, 'REJECTED_WITH_OTHERS', '[]', 'Nothing was written because another row of the call failed')::sync_error
      from unnest(v_statuses) with ordinality as s(status, place) where s.status in ('CREATED', 'UPDATED')
    );
    v_statuses := array(
      select case when s.status in ('CREATED', 'UPDATED') then 'FAILED' else s.status end
      from unnest(v_statuses) with ordinality as s(status, place) order by s.place
    );
  end if;

  if not v_dry_run then
    v_writes := array(
      select s.place::integer - 1 from unnest(v_statuses) with ordinality as s(status, place)
      where s.status in ('CREATED', 'UPDATED')
    );
  end if;
  if cardinality(v_writes) > 0 then
    insert into products (
      id, erp_product_number, name, vintage, wine_type_id, producer, grape_variety, country, province, region,
      description, alcohol_percent, bottle_size_ml, stock_quantity, is_active, source_updated_at
    )
    select n.id, n.erp_product_number, n.name, n.vintage, n.wine_type_id, n.producer, n.grape_variety, n.country, n.province,
      n.region, n.description, n.alcohol_percent, n.bottle_size_ml, n.stock_quantity, n.is_active, n.source_updated_at
    from unnest(v_rows) as r
      join unnest(v_writes) as w(row_no) using (row_no)
      cross join lateral (select (r.wanted).*) as n
    where (r.was).id is null
    order by n.erp_product_number
    on conflict (erp_product_number) do nothing;
    get diagnostics v_new = row_count;
    if v_new <> (select count(*) from unnest(v_statuses) as s(status) where s.status = 'CREATED') then
      -- Someone made one of the products by another way since; trying again finds it.
      raise exception 'A product was created at the same time' using errcode = 'serialization_failure';
    end if;

    update products p set
      name = n.name, vintage = n.vintage, wine_type_id = n.wine_type_id, producer = n.producer,
      grape_variety = n.grape_variety, country = n.country, province = n.province, region = n.region,
      description = n.description, alcohol_percent = n.alcohol_percent, bottle_size_ml = n.bottle_size_ml,
      stock_quantity = n.stock_quantity, is_active = n.is_active, source_updated_at = n.source_updated_at
    from unnest(v_rows) as r
      join unnest(v_writes) as w(row_no) using (row_no)
      cross join lateral (select (r.wanted).*) as n
    where p.id = (r.was).id and r.wanted is distinct from r.was;

    if v_prices is not null then
      perform write_sync_prices(v_prices, v_writes);
    end if;
    if v_images is not null then
      perform write_sync_images(v_images, v_writes);
    end if;
    if v_ratings is not null then
      perform write_sync_ratings(v_ratings, v_writes);
    end if;
  end if;

  with outcomes as (
    select r.row_no, p.id, v_statuses[r.row_no + 1] as status, r.sent ->> 'erpProductNumber' as number, e.errors
    from unnest(v_rows) as r
      left join products p on p.erp_product_number = r.sent ->> 'erpProductNumber'
      left join (
        select row_no, jsonb_agg(
          jsonb_build_object('code', code, 'path', jsonb_build_array('products', row_no) || path, 'message', message)
          order by path, code
        ) as errors
        from unnest(v_errors) group by row_no
      ) as e on e.row_no = r.row_no
  )
  select jsonb_build_object(
    'results', jsonb_agg(jsonb_build_object(
      'erpProductNumber', o.number, 'status', o.status, 'productId', o.id, 'errors', coalesce(o.errors, '[]')
    ) order by o.row_no),
    'productIds', coalesce(jsonb_agg(o.id order by o.row_no) filter (where o.id is not null and o.status <> 'FAILED'), '[]'),
    'counts', jsonb_build_object(
      'created', count(*) filter (where o.status = 'CREATED'), 'updated', count(*) filter (where o.status = 'UPDATED'),
      'unchanged', count(*) filter (where o.status = 'UNCHANGED'), 'stale', count(*) filter (where o.status = 'STALE'),
      'failed', count(*) filter (where o.status = 'FAILED')
    ),
    'dryRun', v_dry_run
  ) into v_result
  from outcomes as o;
  return v_result;
end;
$$ language plpgsql volatile security definer set search_path from current set plan_cache_mode to force_custom_plan;
comment on function sync_products is '@behavior -*
Creates and updates up to 1000 products, matched by `erpProductNumber` byte for byte, with their prices, images and ratings. What a row leaves out stays as it is, null clears it; a row that is out of date (STALE) or says nothing new (UNCHANGED) writes nothing.';
grant execute on function sync_products to office_api;
