-- syncProducts: compares the input with the stored rows.
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
    left join wine_types t on name_key(t.name) = name_key(f."wineType")
    cross join lateral jsonb_populate_record(p, jsonb_build_object(
      'id', coalesce(p.id, uuidv7()),
      'erp_product_number', r.sent ->> 'erpProductNumber',
      'source_updated_at', coalesce(as_time(r.sent ->> 'sourceUpdatedAt'), p.source_updated_at),
      'name', case when given ? 'name' then normalize_name(f.name) else p.name end,
      'vintage', case when given ? 'vintage' then as_integer(f.vintage) else p.vintage end,
      'wine_type_id', case when given ? 'wineType' then t.id else p.wine_type_id end,
      'producer', case when given ? 'producer' then normalize_name(f.producer) else p.producer end,
      'grape_variety', case when given ? 'grapeVariety' then normalize_name(f."grapeVariety") else p.grape_variety end,
      'country', case when given ? 'country' then normalize_name(f.country) else p.country end,
      'province', case when given ? 'province' then normalize_name(f.province) else p.province end,
      'region', case when given ? 'region' then normalize_name(f.region) else p.region end,
      'description', case when given ? 'description' then trim_to_null(f.description) else p.description end,
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

-- Merged images keep their positions and new ones are appended; a replacing list is complete.
create or replace function sync_images(staged sync_row[]) returns sync_image[] as $$
  select array_agg(row(s.row_no, s.item_no, s.sent, s.was, s.wanted)::sync_image)
  from (
    select r.row_no, i.place - 1, i.sent, o, w
    from unnest(sync_images.staged) as r
      cross join lateral (select r.sent #>> '{images,mode}' = 'REPLACE' is true) as m(replace)
      cross join lateral (
        select i.sent, i.place, trim_to_null(i.sent ->> 'url') as url
        from jsonb_array_elements(as_list(r.sent #> '{images,items}')) with ordinality as i(sent, place)
      ) as i
      left join product_images o on o.product_id = (r.was).id and o.url = i.url
      cross join lateral jsonb_populate_record(o, jsonb_build_object(
        'product_id', (r.wanted).id, 'url', i.url,
        'alt_text', case when m.replace or i.sent ? 'altText' then trim_to_null(i.sent ->> 'altText') else o.alt_text end,
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
        select from jsonb_array_elements(as_list(r.sent #> '{images,items}')) as i(sent) where trim_to_null(i.sent ->> 'url') = o.url
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
        select i.sent, i.place, normalize_name(i.sent ->> 'reviewerName') as reviewer, as_integer(i.sent ->> 'year') as year
        from jsonb_array_elements(as_list(r.sent -> 'ratings')) with ordinality as i(sent, place)
      ) as i
      left join reviewers v on name_key(v.name) = name_key(i.reviewer)
      left join product_ratings o
        on o.product_id = (r.was).id and o.reviewer_id = v.id and o.year is not distinct from i.year
      cross join lateral jsonb_populate_record(o, jsonb_build_object(
        'product_id', (r.wanted).id, 'reviewer_id', v.id, 'year', i.year,
        'points', as_decimal(i.sent ->> 'points', 3),
        'review', case when i.sent ? 'review' then trim_to_null(i.sent ->> 'review') else o.review end
      )) as w
    union all
    select r.row_no, null, null, null, o, null
    from unnest(sync_ratings.staged) as r join product_ratings o on o.product_id = (r.was).id
    where r.sent -> 'ratings' = 'null'
  ) as s(row_no, item_no, sent, reviewer, was, wanted)
$$ language sql stable;
