-- Checks whose violations do not stop a migration; the migrate command logs each as a warning.
create or replace function schema_warnings() returns setof text as $$
  select format('column %s.%I: lists are ordered by it; write `text collate display_order` for what people read, `text collate "C"` for codes',
    c.oid::regclass, a.attname)
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped, table_tags(c.oid) as t(tags)
  where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and not t.tags ? 'internal'
    and a.atttypid = 'text'::regtype and a.attcollation = 'default'::regcollation and a.attgenerated = ''
    and (a.attname in ('name', 'title', 'email') or t.tags ->> 'defaultOrder' ~ ('\y' || a.attname || '\y'))
  union all
  select format('index %s: is unique by lower(); write `name_key(...)`, which also heeds spaces and composition', i.indexrelid::regclass)
  from pg_index i join pg_class c on c.oid = i.indrelid
  where c.relnamespace = current_schema()::regnamespace and i.indisunique and pg_get_indexdef(i.indexrelid) ~ '\mlower\('
$$ language sql stable;
comment on function schema_warnings is 'Columns and indexes that sort or match names by the database''s default rules, each with its fix.';

do $$
declare
  v_warning text;
begin
  for v_warning in select * from schema_warnings() loop
    raise warning '%', v_warning;
  end loop;
end;
$$;
