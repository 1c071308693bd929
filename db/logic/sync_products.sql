-- syncProducts: up to 1000 products of the ERP in one call. All rows are processed together, so the number of
-- statements does not depend on the number of rows: each row is staged with its stored state (`was`) and target state
-- (`wanted`), then all are checked, then differences are written. `row_no` and `item_no` are indexes from 0; a null
-- `wanted` deletes.
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

-- Writes only rows that differ.
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

-- Inserts reviewers in the order of their names, so that concurrent calls do not deadlock.
create or replace function write_sync_ratings(staged sync_rating[], writes integer[]) returns void as $$
begin
  insert into reviewers (name)
  select distinct on (name_key(s.reviewer)) s.reviewer
  from unnest(write_sync_ratings.staged) as s join unnest(write_sync_ratings.writes) as w(row_no) using (row_no)
  where s.reviewer is not null and (s.wanted).reviewer_id is null
  order by name_key(s.reviewer), s.row_no, s.item_no
  on conflict (name_key(name)) do nothing;

  delete from product_ratings p
  using unnest(write_sync_ratings.staged) as s join unnest(write_sync_ratings.writes) as w(row_no) using (row_no)
  where p.id = (s.was).id and (s.wanted).product_id is null;

  insert into product_ratings as p (product_id, reviewer_id, year, points, review)
  select n.product_id, coalesce(n.reviewer_id, v.id), n.year, n.points, n.review
  from unnest(write_sync_ratings.staged) as s
    join unnest(write_sync_ratings.writes) as w(row_no) using (row_no)
    cross join lateral (select (s.wanted).*) as n
    left join reviewers v on n.reviewer_id is null and name_key(v.name) = name_key(s.reviewer)
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
  perform require_all_permissions('products.create', 'products.update');
  if jsonb_array_length(as_list(v_sent)) not between 1 and 1000 then
    perform fail('OF400', 'products: give 1 to 1000 products in a call', '{"path": ["input", "products"]}');
  end if;
  if exists (
    select from jsonb_array_elements(v_sent) as s(sent) where s.sent ? 'ratings' and s.sent -> 'ratings' <> '[]'
  ) then
    perform require_all_permissions('reviewers.read', 'reviewers.create');
  end if;

  if not v_dry_run then
    -- Calls that share a product run one after the other, by locks on 32 groups of numbers in a fixed order. Other
    -- writers wait for the rows.
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
    -- Locks the rows that the call refers to by name, so that they are not renamed or deleted meanwhile.
    perform from wine_types t
    where name_key(t.name) in (select name_key(s.sent #>> '{fields,wineType}') from jsonb_array_elements(v_sent) as s(sent))
    order by t.id
    for share;
    perform from reviewers v
    where name_key(v.name) in (
      select name_key(i.item ->> 'reviewerName')
      from jsonb_array_elements(v_sent) as s(sent), jsonb_array_elements(as_list(s.sent -> 'ratings')) as i(item)
    )
    order by v.id
    for share;
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
      when is_stale((r.wanted).source_updated_at, (r.was).source_updated_at, now()) then 'STALE'
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
      -- Another transaction created one of the products; a retry finds it.
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
          jsonb_build_object('code', code, 'path', jsonb_build_array('input', 'products', row_no) || path, 'message', message)
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
Creates and updates up to 1000 products, matched by `erpProductNumber` byte for byte, with prices, images and ratings. Fields left out stay unchanged and null clears them; STALE and UNCHANGED rows write nothing.';
grant execute on function sync_products to office_api;
