-- Its name until there was a table of that name.
drop function if exists search_indexes();

-- What of a search by a column an index can answer: `value` (is, is one of), `beginning`, `word` (anywhere in a text), `order`
-- (greater, less, between), `element` (of a list).
create or replace function indexed_searches() returns table (relation regclass, attribute text, serves text) as $$
  with keys as materialized (
    select i.indrelid, i.indexrelid, m.amname, k.place, pg_get_indexdef(i.indexrelid, k.place, true) as key, o.opcname,
      i.indcollation[k.place - 1] as collation
    from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am m on m.oid = c.relam join pg_class r on r.oid = i.indrelid,
      generate_series(1, i.indnkeyatts) as k(place), lateral (select opcname from pg_opclass where oid = i.indclass[k.place - 1]) as o
    where r.relnamespace = current_schema()::regnamespace and not r.relispartition and i.indisvalid
      -- What asks for a value never asks for null.
      and (i.indpred is null or pg_get_expr(i.indpred, i.indrelid, true) = pg_get_indexdef(i.indexrelid, k.place, true) || ' IS NOT NULL')
  ),
  columns as materialized (
    select a.attrelid, a.attname, a.attcollation, format('%I', a.attname) as name,
      array[format('search_text(%I)', a.attname), format('search_text(%I::text)', a.attname)] as searched, e.typcategory = 'S' as is_text, t.typelem as element,
      t.typcategory = 'A' as is_list,
      string_to_array(comment_tags(col_description(a.attrelid, a.attnum)) ->> 'search', ' ') @> '{exact}' as is_exact
    from pg_attribute a join pg_class r on r.oid = a.attrelid join pg_type t on t.oid = a.atttypid,
      lateral (select typcategory from pg_type where oid = case when t.typcategory = 'A' then t.typelem else t.oid end) as e
    where r.relnamespace = current_schema()::regnamespace and r.relkind in ('r', 'p') and not r.relispartition
      and a.attnum > 0 and not a.attisdropped
  )
  select distinct c.attrelid::regclass, c.attname::text, s.serves
  from columns c join keys k on k.indrelid = c.attrelid, lateral (
    select 'word' as serves
      where c.is_text and not c.is_list and k.amname = 'gin' and k.opcname = 'gin_trgm_ops'
        and k.key = any (c.searched)
    union all
    select unnest(array['value', 'beginning'])
      where c.is_text and not c.is_list and not coalesce(c.is_exact, false)
        and k.key = any (c.searched)
        and (k.amname = 'gin' and k.opcname = 'gin_trgm_ops' or k.amname = 'btree' and k.place = 1 and k.opcname = 'text_pattern_ops')
    union all
    select 'value'
      where (c.is_exact or not c.is_text) and not c.is_list and k.amname = 'btree' and k.place = 1 and k.key = c.name
        and k.collation = case when k.opcname = 'text_pattern_ops' then k.collation else c.attcollation end
    union all
    select 'beginning'
      where c.is_exact and not c.is_list and k.amname = 'btree' and k.place = 1 and k.key = c.name
        and (k.opcname = 'text_pattern_ops' or k.collation = c.attcollation and k.collation = '"C"'::regcollation)
    union all
    select 'order'
      where not c.is_text and not c.is_list and k.amname = 'btree' and k.place = 1 and k.key = c.name
    union all
    select 'element'
      where c.is_list and k.amname = 'gin' and k.opcname = 'array_ops' and k.key = any (
        case when c.is_text and not coalesce(c.is_exact, false)
          then array[format('search_texts(%s)', c.name), format('search_texts(%s::text[])', c.name)]
          -- Compared as lists of a wider type.
          when c.element in ('smallint'::regtype, 'real'::regtype) then '{}' else array[c.name] end)
  ) as s
$$ language sql stable;
comment on function indexed_searches is 'Which searches by which columns an index answers; all others read the whole table.';

-- The planner keeps, for each column of a query's result, the column of a table that it shows unchanged. Of equal names the last
-- is the result's own, or one of a subquery behind it, by which a view only loses.
create or replace function view_origins() returns table (view regclass, attribute text, relation regclass, source text) as $$
  with recursive shown as (
    select distinct on (v.oid, a.attnum) v.oid as view, a.attname, m.part[2]::oid as relation, m.part[3]::smallint as attnum
    from pg_class v join pg_attribute a on a.attrelid = v.oid and a.attnum > 0 join pg_rewrite r on r.ev_class = v.oid,
      regexp_matches(r.ev_action::text, format(':resno (%s) :resname %s :ressortgroupref \d+ :resorigtbl (\d+) :resorigcol (\d+) :', a.attnum, a.attname), 'g')
        with ordinality as m(part, place)
    where v.relnamespace = current_schema()::regnamespace and v.relkind = 'v' and a.attname ~ '^\w+$'
    order by v.oid, a.attnum, m.place desc
  ),
  traced as (
    select view, attname, relation, attnum, 1 as depth from shown where relation <> 0
    union all
    select t.view, t.attname, s.relation, s.attnum, t.depth + 1
    from traced t join pg_attribute a on a.attrelid = t.relation and a.attnum = t.attnum
      join shown s on s.view = t.relation and s.attname = a.attname and s.relation <> 0
  )
  select t.view::regclass, t.attname::text, t.relation::regclass, a.attname::text
  from traced t join pg_class c on c.oid = t.relation and c.relkind in ('r', 'p')
    join pg_attribute a on a.attrelid = t.relation and a.attnum = t.attnum
$$ language sql stable;
comment on function view_origins is 'Which columns of views show a column of a table unchanged, so that its indexes serve searches by them.';
