-- The fields of templates, read from the catalogue: product columns, columns of rows that a product refers to, computed
-- fields and related lists. New columns appear by themselves; `@export off` hides one and `@export <title>` or
-- `@title <title>` names it.

-- Maps a type to its cell format and the expression that reads it; `%s` is the value.
create or replace function export_reading(type oid, name text, out kind export_field_kind, out reading text) as $$
  select case
      when t.typcategory = 'B' then 'BOOLEAN'
      when b.oid in ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype) then 'INTEGER'
      when b.oid in ('numeric'::regtype, 'real'::regtype, 'double precision'::regtype) then 'DECIMAL'
      when b.oid = 'date'::regtype then 'DATE'
      when b.oid in ('timestamptz'::regtype, 'timestamp'::regtype) then 'DATETIME'
      when b.oid in ('json'::regtype, 'jsonb'::regtype) then 'JSON'
      when t.typcategory = 'S' and export_reading.name ~ '(^|_)url$' then 'URL'
      else 'TEXT'
    end::export_field_kind,
    case
      when b.oid in ('boolean'::regtype, 'timestamptz'::regtype, 'text'::regtype) then '%s'
      when b.oid = 'timestamp'::regtype then '%s at time zone ''UTC'''
      when b.oid in ('json'::regtype, 'jsonb'::regtype) then 'to_jsonb(%s)::text'
      when t.typcategory = 'A' then 'array_to_string(%s, '', '')'
      else '(%s)::text'
    end
  from pg_type d
    -- Resolves a domain to its base type.
    join pg_type b on b.oid = case when d.typtype = 'd' then d.typbasetype else d.oid end
    join pg_type t on t.oid = b.oid
  where d.oid = export_reading.type
$$ language sql stable;

create or replace function export_columns(relation regclass)
returns table (name text, place integer, title text, kind export_field_kind, description text, reading text) as $$
  select a.attname, a.attnum, coalesce(nullif(c.tags ->> 'export', ''), title_of(c.tags, a.attname)), r.kind,
    nullif(regexp_replace(col_description(a.attrelid, a.attnum), '^(@[^\n]*(\n|$))*', ''), ''), r.reading
  from pg_attribute a,
    lateral (select comment_tags(col_description(a.attrelid, a.attnum))) as c(tags),
    lateral export_reading(a.atttypid, a.attname) as r
  where a.attrelid = export_columns.relation and a.attnum > 0 and not a.attisdropped
    and not c.tags ?| array['secret', 'internal'] and coalesce(c.tags ->> 'export', '') <> 'off'
$$ language sql stable;

-- The product has the alias `p`. `source` is a join that the expression needs; any of `keys` allows a caller to read
-- the field.
create or replace function export_catalogue()
returns table (field text, title text, kind export_field_kind, description text, source text, expression text, keys text) as $$
  with relations as (
    select k.oid, a.attname, a.attnum, k.confrelid::regclass as relation, t.tags ->> 'read' as keys,
      coalesce(comment_tags(d.comment) ->> 'fieldName', camel_case(regexp_replace(a.attname, '_id$', ''))) as name,
      title_of(comment_tags(col_description(a.attrelid, a.attnum)), regexp_replace(a.attname, '_id$', '')) as title
    from pg_constraint k
      join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1],
      lateral (select obj_description(k.oid, 'pg_constraint')) as d(comment),
      lateral (select table_tags(k.confrelid)) as t(tags)
    where k.contype = 'f' and k.conrelid = 'products'::regclass and cardinality(k.conkey) = 1
      and t.tags ? 'read' and not t.tags ? 'internal'
      and concat_ws(' ', comment_tags(d.comment) ->> 'forwardBehavior', comment_tags(d.comment) ->> 'behavior')
        ~ '\+singularRelation:resource:single'
  ),
  fields (place, field, title, kind, description, source, expression, keys) as (
    select array[1, c.place], camel_case(c.name), c.title, c.kind, c.description, null, format(c.reading, format('p.%I', c.name)),
      'products.read'
    from export_columns('products') as c
    union all
    select array[2, r.attnum, c.place], r.name || '.' || camel_case(c.name),
      case c.name when 'name' then r.title else r.title || ' ' || inside_sentence(c.title) end, c.kind,
      c.description,
      format('left join %s as %I on %2$I.%I = p.%I', r.relation, 'r_' || r.attname, f.attname, r.attname),
      format(c.reading, format('%I.%I', 'r_' || r.attname, c.name)), r.keys
    from relations r
      join pg_constraint k on k.oid = r.oid
      join pg_attribute f on f.attrelid = k.confrelid and f.attnum = k.confkey[1],
      lateral export_columns(r.relation) as c
    union all
    select array[3], camel_case(n.name), title_of(comment_tags(d.comment), n.name), r.kind,
      nullif(regexp_replace(d.comment, '^(@[^\n]*(\n|$))*', ''), ''), null, format(r.reading, format('%I(p)', f.proname)),
      'products.read'
    from pg_proc f,
      lateral (select obj_description(f.oid, 'pg_proc')) as d(comment),
      lateral (select regexp_replace(f.proname, '^products?_', '')) as n(name),
      lateral export_reading(f.prorettype, n.name) as r
    where f.pronamespace = current_schema()::regnamespace and f.pronargs = 1 and not f.proretset
      and f.proargtypes[0] = (select c.reltype from pg_class c where c.oid = 'products'::regclass)
      and (select t.typtype from pg_type t where t.oid = f.prorettype) in ('b', 'd', 'e')
      and comment_tags(d.comment) ? 'computed' and coalesce(comment_tags(d.comment) ->> 'export', '') <> 'off'
      and has_function_privilege('office_api', f.oid, 'execute')
    union all
    select array[4, o.place], o.field, o.title, o.kind::export_field_kind, o.description, s.source, o.expression, s.keys
    from (values
      ('ratings', 'reviewers.read', 'left join lateral (
        select round(avg(x.points), 2)::text as average, count(*)::text as count, string_agg(
          concat_ws(' || quote_literal(', ') || ', v.name, x.year) || ' || quote_literal(': ') || ' || trim_scale(x.points), e''\n''
          order by x.year desc nulls last, v.name) as "all"
        from product_ratings x left join reviewers v on v.id = x.reviewer_id where x.product_id = p.id
      ) as ratings on true'),
      ('latest', 'reviewers.read', 'left join lateral (
        select x.points::text, x.year::text, x.review, v.name as reviewer
        from (
          select r.* from product_ratings r where r.product_id = p.id
          order by r.year desc nulls last, r.created_at desc, r.id desc limit 1
        ) as x left join reviewers v on v.id = x.reviewer_id
      ) as latest on true'),
      ('image', 'products.read', 'left join lateral (
        select x.url, x.alt_text from product_images x where x.product_id = p.id order by x.position, x.id limit 1
      ) as image on true')
    ) as s(name, keys, source) join (values
      (1, 'ratings', 'ratings.average', 'Average rating', 'DECIMAL', 'The average of all ratings, to two places.', 'ratings.average'),
      (2, 'ratings', 'ratings.count', 'Ratings', 'INTEGER', 'How many ratings there are.', 'ratings.count'),
      (3, 'ratings', 'ratings.all', 'All ratings', 'TEXT', 'One line for each rating, the latest first.', 'ratings."all"'),
      (4, 'latest', 'ratings.latest.points', 'Latest rating', 'DECIMAL', 'The points of the latest rating.', 'latest.points'),
      (5, 'latest', 'ratings.latest.year', 'Latest rating: year', 'INTEGER', 'The year of the latest rating.', 'latest.year'),
      (6, 'latest', 'ratings.latest.reviewer', 'Latest rating: reviewer', 'TEXT', 'Who gave the latest rating.', 'latest.reviewer'),
      (7, 'latest', 'ratings.latest.review', 'Latest review', 'TEXT', 'The words of the latest rating.', 'latest.review'),
      (8, 'image', 'image.url', 'Picture address', 'URL', 'The address of the first picture.', 'image.url'),
      (9, 'image', 'image.altText', 'Picture in words', 'TEXT', 'What the first picture shows, in words.', 'image.alt_text'),
      (10, 'image', 'image', 'Picture', 'IMAGE', 'The first picture; forms only.', 'image.url')
    ) as o(place, source, field, title, kind, description, expression) on o.source = s.name
  )
  select distinct on (f.field) f.field, f.title, f.kind, f.description, f.source, f.expression, f.keys
  from fields f
  order by f.field, f.place
$$ language sql stable;
comment on function export_catalogue is
  'All product fields of templates except prices, which `export_price` defines.';

create or replace function export_price(field text)
returns table (field text, title text, kind export_field_kind, description text, source text, expression text, keys text) as $$
  select export_price.field, words_of(m[1]) || ' price, ' || m[2], 'DECIMAL'::export_field_kind,
    format('The price of type `%s` in %s.', m[1], m[2]), null,
    format(
      '(select x.amount::text from product_prices x where x.product_id = p.id and x.type = %L and x.currency = %L)', m[1], m[2]
    ), 'products.read'
  from regexp_match(export_price.field, '^prices\.([a-z][a-z0-9_]{0,39})\.([A-Z]{3})$') as m
  where m is not null
$$ language sql stable;
comment on function export_price is 'The field `prices.<type>.<currency>`; no row for other names.';

create or replace function find_export_fields(fields text[])
returns table (place integer, field text, title text, kind export_field_kind, source text, expression text, keys text) as $$
  select w.place::integer, w.field, f.title, f.kind, f.source, f.expression, f.keys
  from unnest(find_export_fields.fields) with ordinality as w(field, place)
    left join (
      select * from export_catalogue()
      union all
      select p.* from (select distinct unnest(find_export_fields.fields)) as d(field), lateral export_price(d.field) as p
    ) as f on f.field = w.field
  order by w.place
$$ language sql stable;
comment on function find_export_fields is 'The named fields in their order; an unknown field has no title.';

create or replace function refuse_unknown_field(field text, path jsonb) returns void as $$
declare
  v_near text := (
    select c.field from export_catalogue() as c
    order by extensions.similarity(lower(c.field), lower(refuse_unknown_field.field)) desc, c.field limit 1
  );
begin
  perform fail('OF400', format('`%s` is no field of a product that can be exported (did you mean `%s`?): `exportFields` lists them',
    left(refuse_unknown_field.field, 100), v_near), jsonb_build_object('path', refuse_unknown_field.path));
end;
$$ language plpgsql stable;

create or replace function template_fields(template export_templates) returns text[] as $$
  select coalesce(
    (select w.fields from export_workbooks w where w.id = template.workbook_id),
    array(select c.field from export_template_columns c where c.template_id = template.id order by c.position)
  )
$$ language sql stable;
comment on function template_fields is 'The fields that a template shows, in the order of its columns.';

-- A statement with the export as $1. It returns the place (from 1) and fields of each visible product, in the requested
-- order. Each product is looked up separately behind `offset 0`, so that the first rows come without a sort and the ids
-- never reach the client.
create or replace function export_query(fields text[]) returns text as $$
  select format(
    'select u.place, r.* from own_export_products($1) as u
cross join lateral (
  select %s
  from products p
  %s
  where p.id = u.product_id offset 0
) as r',
    string_agg(format('%s as %I', f.expression, 'c' || f.place), e',\n    ' order by f.place),
    (
      select coalesce(string_agg(d.source, e'\n  '), '')
      from (select distinct s.source from find_export_fields(export_query.fields) as s where s.source is not null) as d
    )
  )
  from find_export_fields(export_query.fields) as f
$$ language sql stable;
comment on function export_query is 'The statement that reads the named fields of an export''s products in their order.';

create or replace function export_fields() returns setof export_field_view as $$
begin
  perform require_permission('exports.read');
  return query
    select f.field, f.title, f.kind, f.description from export_catalogue() as f
    union all
    -- Prices of each existing type and currency.
    select f.field, f.title, f.kind, f.description
    from (select distinct x.type, x.currency from product_prices x where has_permission('products.read')) as d,
      lateral export_price(format('prices.%s.%s', d.type, d.currency)) as f
    order by 1;
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function export_fields is '@guard exports.read
The product fields available in templates: the fields of the product and of its wine type, its first picture, its ratings, and its price for each existing type and currency.';

create or replace function list_export_fields(fields jsonb) returns setof export_field_view as $$
  select * from jsonb_populate_recordset(null::export_field_view, list_export_fields.fields)
$$ language sql immutable;
comment on function list_export_fields is '@behavior -queryField -typeField
Rows of fields that the server has read from its schema.';
grant execute on function export_fields, list_export_fields to office_api;
