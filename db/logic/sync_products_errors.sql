-- syncProducts: validation errors, with their paths relative to the row.
do $$
declare
  v_table text;
begin
  foreach v_table in array array['products', 'product_prices', 'product_images', 'product_ratings', 'reviewers'] loop
    execute format(
      'create or replace function failed_checks(candidates %1$I[])
       returns table (place integer, attribute text, code text, message text) as
       $f$begin return query execute check_query(''%1$s'') using failed_checks.candidates; end$f$ language plpgsql stable',
      v_table
    );
  end loop;
end $$;

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
    select r.row_no, trim_to_null(r.sent #>> '{fields,wineType}') as name
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
  select r.row_no, 'REQUIRED', '["fields", "isActive"]', 'isActive must be given'
  from unnest(sync_row_errors.staged) as r where (r.wanted).is_active is null
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
      row_number() over (partition by s.row_no, name_key(s.reviewer), (s.wanted).year order by s.item_no) as nth
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
