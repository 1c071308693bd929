-- Checks whose violations do not stop a migration; the migrate command logs each as a warning.
create or replace function schema_warnings() returns setof text as $$
  with tables as materialized (
    select c.oid, comment_tags(d.description) as tags
    from pg_class c left join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = c.oid and d.objsubid = 0
    where c.relnamespace = (select current_schema()::regnamespace) and c.relkind in ('r', 'p') and not c.relispartition
  )
  select format('column %s.%I: lists are ordered by it; write `text collate display_order` for what people read, `text collate "C"` for codes',
    t.oid::regclass, a.attname)
  from tables t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
  where not t.tags ? 'internal'
    and a.atttypid = 'text'::regtype and a.attcollation = 'default'::regcollation and a.attgenerated = ''
    and (a.attname in ('name', 'title', 'email') or strpos(t.tags ->> 'defaultOrder', a.attname) > 0 and t.tags ->> 'defaultOrder' ~ ('\y' || a.attname || '\y'))
  union all
  select format('index %s: is unique by lower(); write `name_key(...)`, which also heeds spaces and composition', i.indexrelid::regclass)
  from pg_index i join pg_class c on c.oid = i.indrelid
  where c.relnamespace = (select current_schema()::regnamespace) and i.indisunique
    and (i.indexprs is not null or i.indpred is not null) and pg_get_indexdef(i.indexrelid) ~ '\mlower\('
  union all
  -- A policy written to hide rows shows more of them instead.
  select format('policy %I on %s: is permissive, so it %s; to narrow access, write `as restrictive`, to widen it, `ensure_policy` in a file of `logic`',
    p.polname, t.oid::regclass, case p.polcmd when 'r' then 'shows rows beside those of @read' else 'allows rows beside those of the tags' end)
  from tables t join pg_policy p on p.polrelid = t.oid
    left join pg_description d on d.classoid = 'pg_policy'::regclass and d.objoid = p.oid and d.objsubid = 0
  where p.polpermissive and 'office_api'::regrole = any (p.polroles) and not is_ensured_policy(d.description)
$$ language sql stable;
comment on function schema_warnings is
  'Columns and indexes that sort or match names by the database''s default rules, and policies that widen access unnoticed, each with its fix.';
