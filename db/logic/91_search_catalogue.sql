-- The content of the search engine, read from tags. On a table:
--   @searchCollection <name>      its rows are documents of this collection
--   @searchTitle <title>          the title of the collection; by default its name in words
--   @searchSort <column> [desc]   the order of a list without a search
--   @searchOnly <column>          only rows with this boolean column are documents, for all who may search
-- On a column, or a function with the row as its only parameter:
--   @searchIndex <words>          a field: `searchable`, `filter`, `facet`, `sort`, `dataType <name>`, `title <title>` (last; by default the title of the column)
-- On a foreign key:
--   @searchIndex <column> <words>, ...   fields of the referenced row
-- On a function:
--   @searchFrom <table>.<column> ...     other tables that it reads, by the column that refers to its row

-- Maps a type to its search engine type, its front-end type and the expression that reads it (`%s` is the value).
-- Returns no row for unsupported types.
create or replace function search_reading(type oid) returns table (engine text, data_type text, reading text) as $$
  select k.engine || case when y.typcategory = 'A' then '[]' else '' end,
    case when b.oid in ('timestamptz'::regtype, 'timestamp'::regtype) then 'timestamp' when b.oid = 'date'::regtype then 'date'
      else k.engine end || case when y.typcategory = 'A' then '[]' else '' end,
    case
      when y.typcategory = 'A' then case k.engine when 'string' then '(%s)::text[]' else '%s' end
      when b.oid = 'timestamptz'::regtype then 'case when isfinite(%1$s) then floor(extract(epoch from %1$s))::bigint end'
      when b.oid = 'timestamp'::regtype then 'case when isfinite(%1$s) then floor(extract(epoch from %1$s at time zone ''UTC''))::bigint end'
      when b.oid = 'date'::regtype then 'case when isfinite(%1$s) then extract(epoch from %1$s)::bigint end'
      when k.engine = 'float' then '(%s)::double precision'
      when k.engine = 'string' then '(%s)::text'
      else '%s'
    end
  from pg_type d
    -- Resolves a domain to its base type and a list to its element type.
    join pg_type y on y.oid = case when d.typtype = 'd' then d.typbasetype else d.oid end
    join pg_type b on b.oid = case when y.typcategory = 'A' then y.typelem else y.oid end,
    lateral (select case
      when b.oid = 'boolean'::regtype then 'bool'
      when b.oid in ('smallint'::regtype, 'integer'::regtype) then 'int32'
      when b.oid = 'bigint'::regtype then 'int64'
      when b.oid in ('numeric'::regtype, 'real'::regtype, 'double precision'::regtype) then 'float'
      when b.oid in ('timestamptz'::regtype, 'timestamp'::regtype, 'date'::regtype) and y.typcategory <> 'A' then 'int64'
      when b.typcategory in ('S', 'E') or b.oid = 'uuid'::regtype then 'string'
    end) as k(engine)
  where d.oid = search_reading.type and k.engine is not null
$$ language sql stable;

create or replace function search_tables()
returns table (collection text, relation regclass, title text, keys text[], sort text, shown_by text, own text[]) as $$
  select btrim(t.tags ->> 'searchCollection'), c.oid::regclass,
    coalesce(nullif(btrim(t.tags ->> 'searchTitle'), ''), words_of(btrim(t.tags ->> 'searchCollection'))),
    regexp_split_to_array(btrim(t.tags ->> 'read'), '[\s,]+'), nullif(btrim(t.tags ->> 'searchSort'), ''),
    btrim(t.tags ->> 'searchOnly'),
    case when not t.tags ? 'searchOnly' then regexp_split_to_array(nullif(btrim(t.tags ->> 'owner'), ''), '[\s,]+') end
  from pg_class c join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = c.oid and d.objsubid = 0,
    lateral (select comment_tags(d.description)) as t(tags)
  where c.relnamespace = (select current_schema()::regnamespace) and c.relkind in ('r', 'p') and not c.relispartition
    and t.tags ? 'searchCollection'
$$ language sql stable;
comment on function search_tables is 'The tables indexed in the search engine, with the permissions to read them.';

create or replace function search_words(tag text) returns table (words text[], data_type text, title text) as $$
  select array_remove(regexp_split_to_array(btrim(case when d.data_type is null then m[1] else regexp_replace(m[1], '\ydataType\s+\w+', '') end), '\s+'), ''),
    d.data_type, nullif(btrim(m[2]), '')
  from (
    -- Most tags have neither of the two, and their patterns are slow.
    select case when strpos(search_words.tag, 'title') = 0 then array[search_words.tag, null]
      else regexp_match(search_words.tag, '^(.*?)(?:\ytitle\s+(.*))?$') end
  ) as t(m), lateral (
    select case when strpos(m[1], 'dataType') > 0 then (regexp_match(m[1], '\ydataType\s+(\w+)'))[1] end
  ) as d(data_type)
$$ language sql immutable;

-- The row has the alias `t`. `source` is a join that the expression needs. `changed_by` lists the other tables that a
-- field reads: `to` is the row that `column` refers to, `from` are the rows whose `column` refers to this row.
create or replace function search_fields(relation regclass)
returns table (
  place integer[], name text, title text, type text, data_type text, words text[], expression text, source text,
  other regclass, direction text, through text, key text, target text, code text
) as $$
  with tagged as (
    select array[1, a.attnum] as place, camel_case(a.attname) as name, title_of(c.tags, a.attname) as title, a.atttypid as type,
      c.tags ->> 'searchIndex' as tag,
      format('t.%I', a.attname) as expression, null as source, null::regclass as other, null as direction, null as through,
      null as key, null as target, null as code
    from pg_attribute a join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = a.attrelid and d.objsubid = a.attnum,
      lateral comment_tags(d.description) as c(tags)
    where a.attrelid = search_fields.relation and a.attnum > 0 and not a.attisdropped
    union all
    select array[2, f.attnum, e.place], n.name || upper(left(camel_case(r.attname), 1)) || substr(camel_case(r.attname), 2),
      case r.attname when 'name' then n.title
        else n.title || ' ' || inside_sentence(title_of(comment_tags(col_description(r.attrelid, r.attnum)), r.attname)) end, r.atttypid,
      e.part[2], format('%I.%I', 'r_' || f.attname, r.attname),
      format('left join %s as %I on %2$I.%I = t.%I', k.confrelid::regclass, 'r_' || f.attname, g.attname, f.attname),
      k.confrelid::regclass, 'to', f.attname, g.attname, r.attname, null
    from pg_constraint k
      join pg_attribute f on f.attrelid = k.conrelid and f.attnum = k.conkey[1]
      join pg_attribute g on g.attrelid = k.confrelid and g.attnum = k.confkey[1],
      lateral (select comment_tags(obj_description(k.oid, 'pg_constraint'))) as c(tags),
      lateral (select coalesce(c.tags ->> 'fieldName', camel_case(regexp_replace(f.attname, '_id$', ''))),
        title_of(comment_tags(col_description(f.attrelid, f.attnum)), regexp_replace(f.attname, '_id$', ''))) as n(name, title),
      lateral (
        select regexp_match(btrim(l.text), '^(\w+)\s*(.*)$'), l.place::integer
        from string_to_table(c.tags ->> 'searchIndex', ',') with ordinality as l(text, place)
      ) as e(part, place)
      join pg_attribute r on r.attname = e.part[1] and r.attnum > 0 and not r.attisdropped
    where k.contype = 'f' and k.conrelid = search_fields.relation and cardinality(k.conkey) = 1 and r.attrelid = k.confrelid
    union all
    select array[3, o.place::integer], camel_case(n.name), title_of(c.tags, n.name), p.prorettype, c.tags ->> 'searchIndex',
      format('%I(t)', p.proname), null, to_regclass(o.part[1]), case when o.part is not null then 'from' end, o.part[2],
      null, null, md5(p.prosrc)
    from pg_proc p,
      lateral (select comment_tags(obj_description(p.oid, 'pg_proc'))) as c(tags),
      lateral (select regexp_replace(p.proname, '^' || (select relname from pg_class where oid = search_fields.relation) || '_', '')) as n(name),
      lateral (
        select regexp_match(l.text, '^(\w+)\.(\w+)$'), l.place
        from regexp_split_to_table(coalesce(btrim(c.tags ->> 'searchFrom'), ''), '\s+') with ordinality as l(text, place)
      ) as o(part, place)
    where p.pronamespace = (select current_schema()::regnamespace) and p.pronargs = 1 and not p.proretset
      and p.proargtypes[0] = (select c.reltype from pg_class c where c.oid = search_fields.relation)
  )
  select f.place, f.name, coalesce(w.title, f.title), r.engine, coalesce(w.data_type, r.data_type), w.words,
    format(r.reading, f.expression), f.source, f.other, f.direction, f.through, f.key, f.target, f.code
  from tagged f, lateral search_words(f.tag) as w, lateral search_reading(f.type) as r
  where f.tag is not null
$$ language sql stable;
comment on function search_fields is
  'The document fields of a table in the order of their weight; a field that reads several other tables has a row for each.';

-- The owner filter of a table with `@owner`, used by each caller's search key.
create or replace function search_owner(own text[]) returns text as $$
  select case when cardinality(own) > 1 then format('concat(t.%I, ''/'', t.%I)', own[1], own[2]) else format('t.%I::text', own[1]) end
$$ language sql immutable strict;

create or replace function search_alias(collection text) returns text as $$
  select search_alias.collection || coalesce(substring(current_schema() from '_e2e_.*$'), '')
$$ language sql stable;
comment on function search_alias is
  'The engine''s name of a collection: its own name, with the run''s name in a test run. The server adds the deployment''s prefix.';

-- Stores the definitions at the end of a migration, because reading the catalogue is too slow for a request.
create or replace function describe_search() returns void as $$
  with described as (
    select s.collection, c.relname as table_name, s.keys, s.own, o.condition, d.fields, s.title, coalesce(
        (select camel_case(m[1]) || ':' || coalesce(lower(m[2]), 'asc') from regexp_match(s.sort, '^(\w+)(?:\s+(asc|desc))?$', 'i') as m), ''
      ) as default_sort, d.engine, table_tags(s.relation) ? 'auditReads' as is_audited,
      format('select d.id, jsonb_strip_nulls(to_jsonb(d)) from (select t.id%s%s from %s t %s where t.id = any ($1) and %s) as d',
        d.columns, ', ' || search_owner(s.own) || ' as "visibleTo"', s.relation, d.sources, o.condition) as document_query
    from search_tables() s join pg_class c on c.oid = s.relation,
      lateral (select coalesce('t.' || quote_ident(s.shown_by), 'true')) as o(condition), lateral (
      select
        jsonb_agg(jsonb_build_object(
          'name', f.name, 'title', f.title, 'type', f.type, 'dataType', f.data_type, 'searchable', 'searchable' = any (f.words),
          'filterable', f.words && '{filter,facet}', 'sortable', 'sort' = any (f.words), 'facet', 'facet' = any (f.words)
        ) order by f.place) as fields,
        string_agg(concat_ws(' ', f.name, f.type, array_to_string(f.words, ','), f.code), e'\n' order by f.place) as engine,
        string_agg(format(', %s as %I', f.expression, f.name), '' order by f.place) as columns,
        string_agg(distinct f.source, ' ') as sources
      from (select distinct on (x.name) x.* from search_fields(s.relation) as x order by x.name, x.place) as f
    ) as d
  ),
  gone as (
    delete from search_catalogue c where c.collection not in (select d.collection from described d)
  )
  insert into search_catalogue as c (collection, table_name, keys, own, condition, title, definition, document_query, signature)
  select d.collection, d.table_name, d.keys, d.own, d.condition, d.title, jsonb_build_object(
      'type', d.collection, 'collection', search_alias(d.collection), 'title', d.title, 'own', d.own, 'defaultSort', d.default_sort,
      'isAudited', d.is_audited, 'fields', d.fields
    ), d.document_query, md5(concat_ws(e'\n', d.engine, d.document_query))
  from described d
  on conflict on constraint search_catalogue_pkey do update set
    table_name = excluded.table_name, keys = excluded.keys, own = excluded.own, condition = excluded.condition, title = excluded.title, definition = excluded.definition,
    document_query = excluded.document_query, signature = excluded.signature
  where c is distinct from excluded
$$ language sql volatile;
comment on function describe_search is
  'Stores the definitions of the collections. A change of the signature, which ignores titles, rebuilds a collection.';
