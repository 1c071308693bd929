-- The search engine shows whole documents, including fields from other tables, to every caller with the table's permissions.
create or replace function unread_rows(other regclass, collection regclass) returns table (key text, reason text) as $$
  with compared as (select table_tags(unread_rows.other) as other, table_tags(unread_rows.collection) as own)
  select k, 'need not ' || case k when 'login' then 'be logged in' else 'hold ' || k end
  from compared, regexp_split_to_table(coalesce(nullif(btrim(compared.other ->> 'read'), ''), 'any permission'), '[\s,]+') as k
  union all
  select null, 'see also those of other owners (the tag @owner)' from compared where compared.other ? 'owner'
  union all
  select null, 'may use a scoped API token (the tag @' || t || ')' from compared, unnest(array['login', 'session']) as t
  where compared.other ? t and not compared.own ?| array['login', 'session']
  union all
  select null, 'see also those that the restrictive policy ' || p.polname || ' hides'
  from pg_policy p where p.polrelid = unread_rows.other and not p.polpermissive and p.polcmd in ('r', '*')
$$ language sql stable security definer set search_path from current;
comment on function unread_rows is 'The permissions that readers of a table hold, and why some of its rows are hidden from holders of all of them.';

-- Checks the tags for the search engine.
create or replace function search_rule_violations() returns setof text as $$
  with collections as (
    select s.*, c.relname, 'table ' || s.relation || ': ' as what from search_tables() s join pg_class c on c.oid = s.relation
  ),
  fields as materialized (
    select c.what as table_what, c.relation, f.* from collections c, lateral search_fields(c.relation) as f
  ),
  described_functions as materialized (
    select p.oid, p.proargtypes, p.pronargs, p.prorettype, comment_tags(d.description) as tags
    from pg_proc p join pg_description d on d.classoid = 'pg_proc'::regclass and d.objoid = p.oid
    where p.pronamespace = (select current_schema()::regnamespace)
  ),
  -- All uses of @searchIndex; the tag of a foreign key yields one row for each column.
  tagged as (
    select 'column ' || c.oid::regclass || '.' || a.attname || ': ' as what, c.oid as relation, a.atttypid as type, t.tags ->> 'searchIndex' as tag,
      t.tags ?| array['secret', 'internal'] as hidden, null::oid as other, true as is_there, false as follows
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = c.oid and d.objsubid = a.attnum,
      lateral (select comment_tags(d.description)) as t(tags)
    where c.relnamespace = (select current_schema()::regnamespace) and c.relkind in ('r', 'p') and not c.relispartition and t.tags ? 'searchIndex'
    union all
    select 'foreign key ' || k.conname || ' on ' || k.conrelid::regclass || ', ' || coalesce(e.part[1], 'nothing') || ': ', k.conrelid, r.atttypid,
      e.part[2], coalesce(comment_tags(col_description(k.confrelid, r.attnum)) ?| array['secret', 'internal'], false), k.confrelid,
      r.attnum is not null, coalesce(t.tags ->> 'forwardFollows', '') = 'parent'
    from pg_constraint k join pg_description d on d.classoid = 'pg_constraint'::regclass and d.objoid = k.oid
      cross join lateral (select comment_tags(d.description)) as t(tags)
      cross join lateral (select regexp_match(btrim(l), '^(\w+)\s*(.*)$') from string_to_table(t.tags ->> 'searchIndex', ',') as l) as e(part)
      left join pg_attribute r on r.attrelid = k.confrelid and r.attname = e.part[1] and r.attnum > 0 and not r.attisdropped
    where k.connamespace = (select current_schema()::regnamespace) and t.tags ? 'searchIndex'
    union all
    select 'function ' || p.oid::regprocedure || ': ', c.oid, p.prorettype, t.tags ->> 'searchIndex', false, null, true, false
    from described_functions p left join pg_class c on c.reltype = p.proargtypes[0] and p.pronargs = 1
      cross join lateral (select p.tags) as t(tags)
    where t.tags ? 'searchIndex'
  ),
  said as (
    select t.*, w.words, w.data_type, r.engine
    from tagged t cross join lateral search_words(t.tag) as w left join lateral search_reading(t.type) as r on true
  )
  select what || 'the tag @searchCollection is "' || collection || '"; a name has 1 to 40 of a-z, 0-9 and _, a letter first' from collections
    where collection !~ '^[a-z][a-z0-9_]{0,39}$'
  union all
  select min(what) || 'another table has the tag @searchCollection ' || collection || ' as well' from collections group by collection having count(*) > 1
  union all
  select what || 'has the tag @searchCollection and needs @read, which says who may search it' from collections where keys is null
  union all
  -- The search engine shows a document to all who hold the permission, or to its owner.
  select c.what || 'has the tag @searchCollection and the restrictive policy ' || p.polname
      || ', which the search engine does not know; remove one of them, or write `@searchOnly` with a boolean column'
    from collections c join pg_policy p on p.polrelid = c.relation
    where not p.polpermissive and p.polcmd in ('r', '*') and c.shown_by is null
  union all
  select what || 'has the tag @searchCollection and needs a primary key `id uuid`' from collections c where not exists (
    select from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
    where i.indrelid = c.relation and i.indisprimary and i.indnkeyatts = 1 and a.attname = 'id' and a.atttypid = 'uuid'::regtype)
  union all
  select what || 'has the tag @searchCollection and no field; add the tag @searchIndex to a column' from collections c
    where not exists (select from fields f where f.relation = c.relation)
  union all
  select c.what || 'the tag @searchSort is "' || c.sort || '"; it names one column that has `sort` in its @searchIndex, and may end in `desc`'
    from collections c where c.sort is not null and not exists (
      select from fields f
      where f.relation = c.relation and f.name = camel_case((regexp_match(c.sort, '^(\w+)(?:\s+(?:asc|desc))?$', 'i'))[1]) and 'sort' = any (f.words))
  union all
  select c.what || 'the tag @searchOnly is "' || c.shown_by || '"; it names a column of type boolean' from collections c
    where not exists (
      select from pg_attribute a
      where a.attrelid = c.relation and a.attname = c.shown_by and a.atttypid = 'boolean'::regtype and not a.attisdropped)
      and c.shown_by is not null
  union all
  select f.table_what || 'two fields of the collection are called ' || f.name from fields f
    group by f.table_what, f.name having count(distinct f.place[1:2]) > 1
  union all
  select f.table_what || 'no field of the collection can be called ' || f.name from fields f
    where f.name in ('id', 'visibleTo') or octet_length(f.name) > 63
  union all
  select what || 'has the tag @searchIndex, but what it belongs to has no @searchCollection' from said s
    where not exists (select from collections c where c.relation = s.relation)
  union all
  select what || 'has the tag @searchIndex, and there is no such column' from said where not is_there
  union all
  select what || 'has the tag @searchIndex, and nobody may read it' from said where hidden
  union all
  select what || 'the search engine cannot hold a ' || format_type(type, null) from said where is_there and engine is null
  union all
  select what || 'the tag @searchIndex has the word "' || w || '"; it can have searchable, filter, facet, sort, dataType and title'
    from said, unnest(words) as w where w not in ('searchable', 'filter', 'facet', 'sort')
  union all
  select what || 'words can be searched in text only; take `searchable` out of @searchIndex' from said
    where 'searchable' = any (words) and engine not in ('string', 'string[]')
  union all
  select what || 'a list has no order; take `sort` out of @searchIndex' from said where 'sort' = any (words) and engine like '%[]'
  union all
  select what || 'the dataType is "' || data_type || '"; it can be hexColor, email, url, phone, money or percent' from said
    where data_type not in ('hexColor', 'email', 'url', 'phone', 'money', 'percent')
  union all
  -- Searching must not show rows that the caller cannot read.
  select s.what || 'shows rows of ' || s.other::regclass || ' to those who may search, and these ' || l.reason
    from said s join collections c on c.relation = s.relation, unread_rows(s.other, c.relation) as l
    where s.other is not null and s.is_there and not s.follows and (l.key is null or l.key <> all (c.keys))
  union all
  select 'function ' || p.oid::regprocedure || ': the tag @searchFrom names ' || l || '; write <table>.<column>, a column that refers to its row'
    from described_functions p left join pg_class c on c.reltype = p.proargtypes[0],
      regexp_split_to_table(btrim(p.tags ->> 'searchFrom'), '\s+') as l
    where not exists (
      select from pg_constraint k join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
      where k.contype = 'f' and k.confrelid = c.oid and cardinality(k.conkey) = 1
        and k.conrelid = to_regclass((regexp_match(l, '^(\w+)\.\w+$'))[1]) and a.attname = split_part(l, '.', 2))
  union all
  select 'function ' || p.oid::regprocedure || ': shows rows of ' || split_part(l, '.', 1) || ' to those who may search, and these ' || u.reason
    from described_functions p join pg_class c on c.reltype = p.proargtypes[0] join collections s on s.relation = c.oid,
      regexp_split_to_table(btrim(p.tags ->> 'searchFrom'), '\s+') as l,
      unread_rows(to_regclass((regexp_match(l, '^(\w+)\.\w+$'))[1]), c.oid) as u
    where u.key is null or u.key <> all (s.keys)
$$ language sql stable security definer set search_path from current;
comment on function search_rule_violations is 'Violations of the rules for search tags.';
