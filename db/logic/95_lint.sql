-- The rules for all tables and functions. The migrate command, the server at its start, and the tests call this
-- function.
create or replace function schema_violations() returns setof text as $$
  with tables as (
    select c.oid, c.oid::regclass::text as name, c.relkind, c.relispartition, c.relrowsecurity, c.relforcerowsecurity,
      d.description as comment, comment_tags(d.description) as tags, c.relowner
    from pg_class c left join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = c.oid and d.objsubid = 0
    where c.relnamespace = (select current_schema()::regnamespace) and c.relkind in ('r', 'p', 'v', 'm', 'f')
  ),
  -- Materialized, because later joins would search all tables again.
  columns as materialized (
    select t.oid, t.name as table_name, t.relkind, t.relispartition, t.tags as table_tags, a.attnum, a.attname, a.atttypid, a.attcollation,
      d.description as comment, comment_tags(d.description) as tags
    from tables t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
      left join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = t.oid and d.objsubid = a.attnum
  ),
  secrets as materialized (select * from columns where tags ? 'secret'),
  -- Privileges of roles other than the owner.
  acls as (
    select 'table ' || t.name as what, 'table' as kind, t.oid, t.name, t.relispartition, t.relowner as owner, c.relacl as acl
    from tables t join pg_class c on c.oid = t.oid
    union all
    select 'column ' || t.name || '.' || a.attname, 'column', t.oid, t.name, t.relispartition, t.relowner, a.attacl
    from tables t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
    union all
    select 'sequence ' || c.oid::regclass, 'sequence', c.oid, null, null, c.relowner, c.relacl
    from pg_class c where c.relnamespace = (select current_schema()::regnamespace) and c.relkind = 'S'
    union all
    select 'function ' || p.oid::regprocedure, 'function', p.oid, null, null, p.proowner, p.proacl
    from pg_proc p where p.pronamespace = (select current_schema()::regnamespace)
    union all
    select 'schema ' || nspname, 'schema', oid, null, null, nspowner, nspacl from pg_namespace where nspname = current_schema()
  ),
  rights as (
    select a.what, a.kind, a.oid, a.name, a.relispartition, g.grantee, case g.grantee when 0 then 'PUBLIC' else g.grantee::regrole::text end as holder,
      g.privilege_type, g.is_grantable
    from acls a, lateral aclexplode(a.acl) as g where g.grantee not in (a.owner, 'office_owner'::regrole)
  ),
  -- Policies that call a function with one result for all rows.
  calls as materialized (
    select distinct p.oid, p.polrelid, f.oid as function
    from pg_policy p join pg_depend d on d.classid = 'pg_policy'::regclass and d.objid = p.oid and d.refclassid = 'pg_proc'::regclass
      join pg_proc f on f.oid = d.refobjid
    where p.polrelid in (select oid from tables) and f.pronamespace = (select current_schema()::regnamespace)
      and (f.pronargs = 0 or f.proname in ('has_permission', 'has_any_permission'))
  ),
  known_keys as (select key from permissions),
  indexed as materialized (select * from indexed_searches()),
  served as materialized (
    select * from indexed
    union all
    select o.view, o.attribute, i.serves from view_origins() o join indexed i on i.relation = o.relation and i.attribute = o.source
  )
  select 'table ' || name || ': row-level security must be enabled and forced' from tables
    where relkind in ('r', 'p') and not (relrowsecurity and relforcerowsecurity)
  union all
  select * from tag_violations()
  union all
  select * from view_violations()
  union all
  -- The API, the audit log and the search spell a name of these characters in the same way, and no other name.
  select n.kind || n.name || ': a name has a-z, 0-9 and single underscores between them, a letter first; name it `' || n.plain || '`'
      || case when n.kind = 'column ' then ' and show it as `@title ' || n.spelt || '`' else '' end
    from (
      select case when c.relkind in ('v', 'm') then 'view ' when c.relkind = 'c' then 'type ' else 'table ' end, c.oid::regclass::text, c.relname
        from pg_class c where c.relnamespace = (select current_schema()::regnamespace) and c.relkind in ('r', 'p', 'v', 'm', 'f', 'c')
      union all
      select 'column ', c.oid::regclass || '.' || quote_ident(a.attname), a.attname
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where c.relnamespace = (select current_schema()::regnamespace) and c.relkind in ('r', 'p', 'v', 'm', 'f', 'c')
    ) as o(kind, name, own_name),
    lateral btrim(regexp_replace(regexp_replace(o.own_name, '([[:lower:][:digit:]])([[:upper:]])', '\1_\2', 'g'), '[_\s]+', ' ', 'g')) as t(words),
    lateral (select o.kind, o.name, trim(both '_' from regexp_replace(extensions.search_text(t.words), '[^a-z0-9]+', '_', 'g')),
      upper(left(t.words, 1)) || lower(substr(t.words, 2))) as n(kind, name, plain, spelt)
    where o.own_name !~ '^[a-z][a-z0-9]*(_[a-z0-9]+)*$'
  union all
  select 'table ' || name || ': has no description; add `comment on table ' || name || ' is ''...''`' from tables
    where not relispartition and relkind in ('r', 'p') and coalesce(btrim(regexp_replace(comment, '^(@[^\n]*(\n|$))*', '')), '') = ''
  union all
  select 'table ' || name || ': declares no permission to read it; add the tag `@read <permission>` (or `@internal` with no grants)' from tables
    where not relispartition and relkind in ('r', 'p') and not tags ? 'read' and not tags ? 'internal'
  union all
  select 'table ' || name || ': does not declare auditing; add the tag `@audit <EntityType>` or `@audit off because <reason>`' from tables
    where not relispartition and relkind in ('r', 'p') and not tags ? 'audit'
  union all
  -- Deletions and their restoration are found by the type.
  select 'tables ' || string_agg(name, ' and ' order by name) || ': have the same type of the tag @audit, ' || entity_type
      || '; give each its own' from (
    select name, substring(tags ->> 'audit' from '^(?!off\y)\w+') as entity_type from tables where not relispartition
  ) as t where entity_type is not null group by entity_type having count(*) > 1
  union all
  select 'table ' || t.name || ': ' || case count(*) when 1 then 'the tag ' else 'the tags ' end
      || string_agg('@' || tag, ', ' order by place) || case count(*) when 1 then ' names' else ' name' end || ' the unknown permission ' || key
      || permission_hint(key, (select array_agg(k.key) from known_keys k))
    from tables t, unnest(array['read', 'create', 'update', 'delete', 'history']) with ordinality as v(tag, place),
      regexp_split_to_table(btrim(t.tags ->> tag), '[\s,]+') as key
    where t.tags ->> tag ~ '\S' and key not in (select k.key from known_keys k) and not (tag <> 'history' and t.tags ->> tag = 'login')
    group by t.name, key
  union all
  select 'table ' || name || ': the tag @history guards a history that the table does not have; add the tag `@audit <EntityType>`, or remove it' from tables
    where tags ? 'history' and tags ->> 'audit' ~ '^off\y'
  union all
  select 'table ' || t.name || ': the tag @summary names the unknown column ' || column_name
      || did_you_mean(column_name, (select array_agg(c.attname::text) from columns c where c.oid = t.oid))
    from tables t, regexp_split_to_table(btrim(t.tags ->> 'summary'), '[\s,]+') as column_name
    where t.tags ? 'summary' and column_name not in (select c.attname from columns c where c.oid = t.oid)
  union all
  select 'table ' || t.name || ': the tag @mutations offers ' || verb || ' but @' || verb || ' names no permission'
    from tables t, regexp_split_to_table(btrim(t.tags ->> 'mutations'), '[\s,]+') as verb
    where t.relkind in ('r', 'p') and verb in ('create', 'update', 'delete') and not t.tags ? verb
  union all
  select 'table ' || t.name || ': the tag @mutations offers ' || verb || ' and may write none of its columns; add a column that ' || verb
      || ' may write, or remove `' || verb || '` from the tag'
    from tables t, unnest(array['create', 'update']) as verb
    where t.relkind in ('r', 'p') and t.tags ->> 'mutations' ~ ('\y' || verb || '\y') and writable_columns(t.oid, verb) is null
  union all
  -- Otherwise everybody would change the rows of everybody, or rows that they do not see.
  select 'table ' || t.name || ': has ' || string_agg('`@' || v.verb || ' login`', ' and ' order by v.place)
      || ' and ' || case when not t.tags ? 'owner' then 'no @owner; add it' when t.tags ? 'shared' then '@shared; remove one of them'
        else 'not `@read login`; add it' end || ', or name a permission in place of `login`'
    from tables t, unnest(array['create', 'update', 'delete']) with ordinality as v(verb, place)
    where t.tags ->> v.verb = 'login' and (not t.tags ? 'owner' or t.tags ->> 'read' is distinct from 'login' or t.tags ? 'shared')
    group by t.name, t.tags
  union all
  select 'table ' || name || ': has the tag @shared, which takes @owner and `@mutations update` or `@mutations delete`; remove it' from tables
    where tags ? 'shared' and (not tags ? 'owner' or coalesce(tags ->> 'mutations', '') !~ '\y(update|delete)\y')
  union all
  select 'column ' || table_name || '.' || attname || ': has no description; add `comment on column`' from columns
    where not relispartition and not table_tags ? 'internal'
      and attname not in ('id', 'created_at', 'updated_at') and attname !~ '_id$' and comment is null
  union all
  select 'column ' || table_name || '.' || attname || case when relkind = 'v'
      then ': looks like a secret and can be read; leave it out of the view, or give it another name'
      when tags ? 'secret' then ': has the tag @secret and can be read; remove the grant'
      else ': looks like a secret and can be read; add the tag @secret or another name' end
    from columns
    where (tags ? 'secret' or attname ~ '(secret|password|token|hash|private)' and attname !~ '_id$')
      and has_column_privilege('office_api', oid, attnum, 'select')
  union all
  select what || ': ' || holder || ' holds ' || privilege_type || ', which no request role may' from rights
    where kind in ('table', 'column') and grantee <> 0
      and (privilege_type in ('TRUNCATE', 'REFERENCES', 'TRIGGER', 'MAINTAIN') or holder ~ '^office_server(_[ab])?$')
  union all
  select what || ': PUBLIC holds ' || privilege_type from rights where kind in ('table', 'column', 'schema') and grantee = 0
  union all
  select what || ': ' || holder || ' holds ' || privilege_type || '; a key of uuidv7() or an identity column needs no such right'
    from rights where kind = 'sequence'
  union all
  select what || ': ' || holder || ' may create objects in it; revoke CREATE' from rights
    where kind = 'schema' and grantee <> 0 and privilege_type = 'CREATE'
  union all
  select what || ': ' || holder || ' holds ' || privilege_type || ' with grant option; grant it without' from rights
    where is_grantable
  union all
  select distinct 'partition ' || name || ': can be reached directly by ' || holder
    from rights where kind in ('table', 'column') and relispartition and grantee <> 0
  union all
  select 'table ' || t.name || ': office_api may ' || upper(v.verb) || ', which its tags do not declare; declare it or revoke the grant'
    from tables t, (values ('select', 'read'), ('insert', 'create'), ('update', 'update'), ('delete', 'delete')) as v(verb, tag)
    where not t.relispartition
      and (has_table_privilege('office_api', t.oid, v.verb) or v.verb <> 'delete' and has_any_column_privilege('office_api', t.oid, v.verb))
      and not case v.verb when 'select' then t.tags ? 'read' else coalesce(t.tags ->> 'mutations', '') ~ ('\y' || v.tag || '\y') end
  union all
  select 'policy ' || p.polname || ' on ' || t.name || ': is for PUBLIC' from tables t join pg_policy p on p.polrelid = t.oid
    where 0 = any (p.polroles)
  union all
  select 'policy ' || p.polname || ' on ' || t.name || ': lets everyone write (`true`); write a condition such as `(select has_permission(''products.update''))`'
    from tables t join pg_policy p on p.polrelid = t.oid
    where p.polroles <> array['office_owner'::regrole::oid] and p.polcmd <> 'r'
      and ('true' in (pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)))
  union all
  select 'policy ' || p.polname || ' on ' || t.name || ': lets everyone read (`true`); write a condition such as `(select has_permission(''products.read''))`'
    from tables t join pg_policy p on p.polrelid = t.oid
    where p.polroles <> array['office_owner'::regrole::oid] and p.polcmd = 'r' and pg_get_expr(p.polqual, p.polrelid) = 'true'
  union all
  select 'policy ' || p.polname || ' on ' || t.name || ': a policy for writing needs a check of the new row; give `ensure_policy` the condition as the last argument too'
    from tables t join pg_policy p on p.polrelid = t.oid where p.polcmd in ('a', 'w', '*') and p.polwithcheck is null
  union all
  -- A call that reads no column of the row has one result for all rows.
  select 'policy ' || p.polname || ' on ' || t.name || ': calls ' || f.proname || ' for each row; write `(select ' || f.proname || '(...))`'
    from calls c join tables t on t.oid = c.polrelid join pg_policy p on p.oid = c.oid join pg_proc f on f.oid = c.function,
      lateral concat_ws(' ', pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)) as e
    where regexp_count(e, '\m' || f.proname || '\(') > regexp_count(e, '\( ?SELECT \(*' || f.proname || '\(')
  union all
  select distinct 'table ' || r.name || ': ' || r.holder || ' may ' || r.privilege_type || ' but no policy says which rows'
    from rights r
    where r.kind in ('table', 'column') and r.grantee <> 0 and r.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
      and r.oid not in (select v.oid from tables v where v.relkind = 'v')
      and not exists (
        select from pg_policy p where p.polrelid = r.oid and r.grantee = any (p.polroles)
          and p.polcmd::text in ('*', case r.privilege_type when 'SELECT' then 'r' when 'INSERT' then 'a' when 'UPDATE' then 'w' else 'd' end))
  union all
  select 'table ' || t.name || ': belongs to ' || t.relowner::regrole || ', not to office_owner'
    from tables t where t.relowner <> 'office_owner'::regrole
  union all
  select 'foreign key ' || k.conname || ' on ' || t.name || ': its columns have no index'
    from tables t join pg_constraint k on k.conrelid = t.oid and k.contype = 'f'
    where not t.relispartition and not exists (
      select from pg_index i
      where i.indrelid = t.oid and i.indisvalid and i.indnkeyatts >= cardinality(k.conkey)
        and (i.indkey::smallint[])[0 : cardinality(k.conkey) - 1] @> k.conkey
        -- The foreign key check never looks for null.
        and (i.indpred is null or pg_get_expr(i.indpred, t.oid) in (
          select format('(%I IS NOT NULL)', a.attname) from pg_attribute a where a.attrelid = t.oid and a.attnum = any (k.conkey))))
  union all
  -- Each search that a tag offers needs an index.
  select 'column ' || a.table_name || '.' || a.attname || ': has the tag @search' || coalesce(' ' || n.word, '') || ' and no index for it; '
    || case when a.relkind = 'v' then 'show the column of a table as it is, which has one, or take the tag out'
    else 'add `' || case n.serves
      when 'word' then format('create index on %s using gin (%s extensions.gin_trgm_ops)', a.table_name,
        case when a.oid in (select relation from word_columns()) then 'search_words' else format('search_text(%I)', a.attname) end)
      when 'element' then format('create index on %s using gin (%s)', a.table_name,
        case when is_text and not words @> '{exact}' then format('search_texts(%I)', a.attname) else quote_ident(a.attname) end)
      else format('create index on %s (%I%s)', a.table_name, a.attname,
        case a.attcollation when '"C"'::regcollation then '' else ' text_pattern_ops' end) end || '`' end
    from columns a join pg_type y on y.oid = a.atttypid,
      lateral (select string_to_array(a.tags ->> 'search', ' ')) as w(words),
      lateral (select y.typcategory = 'A', exists (select from pg_type e where e.oid = y.typelem and e.typcategory = 'S')) as l(is_list, is_text),
      lateral (
        select 'element' as serves, null as word where is_list
        union all select 'word', 'word' where words @> '{word}' and not is_list
        union all select 'beginning', 'exact' where words @> '{exact}' and not is_list
      ) as n
    where not a.relispartition and words is not null
      and not exists (select from served i where i.relation = a.oid and i.attribute = a.attname and i.serves = n.serves)
  union all
  -- Searching words must give the same result with and without `search_words`.
  select 'column ' || a.table_name || '.search_words: must be `generated always as (words_text(' || coalesce(w.words, '') || ')) stored`, of all columns with the tag @search word, and have the tag @internal; '
      || format('write `alter table %s alter column search_words set expression as (words_text(%s))`', a.table_name, w.words)
    from columns a, lateral (
      select string_agg(quote_ident(c.attname), ', ' order by c.attnum) as words, array_agg(c.attname order by c.attname) as names
      from columns c where c.oid = a.oid and string_to_array(c.tags ->> 'search', ' ') @> '{word}'
    ) as w
    where a.attname = 'search_words' and not a.relispartition
      and (not a.tags ? 'internal'
        or w.names is distinct from (select array_agg(s.attribute order by s.attribute) from word_columns() s where s.relation = a.oid))
  union all
  -- The order of a connection needs an index over all its columns, ascending or descending.
  select 'table ' || t.name || ': no index has its @defaultOrder; add `create index on ' || t.name || ' (' || o.columns || ')`'
    from tables t, lateral (
      select array_agg(attnum order by place) as attnums, array_agg(descends order by place) as directions,
        string_agg(quote_ident(attname) || case when descends then ' desc' else '' end, ', ' order by place) as columns,
        count(*) filter (where place < 1000) as named
      from (
        select a.attnum, a.attname, p.place, p.part[2] ~* '^desc$' is true as descends
        from string_to_table(t.tags ->> 'defaultOrder', ',') with ordinality as l(text, place),
          lateral (select regexp_match(btrim(l.text), '^(\w+)(?:\s+(asc|desc))?$', 'i'), l.place) as p(part, place)
          join pg_attribute a on a.attrelid = t.oid and a.attname = p.part[1]
        union all
        select k.attnum, a.attname, 1000 + k.place, t.tags ->> 'defaultOrder' ~* '^\s*\w+\s+desc\y'
        from pg_index i, unnest(i.indkey::smallint[]) with ordinality as k(attnum, place)
          join pg_attribute a on a.attrelid = t.oid and a.attnum = k.attnum
        where i.indrelid = t.oid and i.indisprimary and not t.tags ->> 'defaultOrder' ~ ('\y' || a.attname || '\y')
          -- Unique columns need no primary key as tie-breaker.
          and not exists (
            select from pg_index u
            where u.indrelid = t.oid and u.indisunique and u.indpred is null and u.indexprs is null and not exists (
              select from pg_attribute n where n.attrelid = t.oid and n.attnum = any (u.indkey)
                and not (n.attnotnull and t.tags ->> 'defaultOrder' ~ ('\y' || n.attname || '\y'))))
      ) as c
    ) as o
    where t.relkind in ('r', 'p') and t.tags ? 'connection' and o.named = regexp_count(t.tags ->> 'defaultOrder', ',') + 1 and not exists (
      select from pg_index i join pg_class c on c.oid = i.indexrelid, lateral (
        select least(case when i.indisunique then i.indnkeyatts end, cardinality(o.attnums)) as size) as n, lateral (
        select array_agg(option & 1 = 1 order by place) from unnest(i.indoption::smallint[]) with ordinality as u(option, place)
        where place <= n.size) as d(directions)
      where i.indrelid = t.oid and i.indisvalid and i.indpred is null and c.relam = (select oid from pg_am where amname = 'btree')
        and (i.indkey::smallint[])[0 : n.size - 1] = o.attnums[1 : n.size]
        and (directions = o.directions[1 : n.size]
          or directions = (select array_agg(not v order by place) from unnest(o.directions[1 : n.size]) with ordinality as u(v, place))))
  union all
  select 'table ' || t.name || ': declares @audit but its ' || e.event || ' trigger is missing or off'
    from tables t, unnest(array['insert', 'update', 'delete']) as e(event)
    where t.relkind in ('r', 'p') and not t.relispartition and t.tags ->> 'audit' ~ '^[A-Z]' and not exists (
      select from pg_trigger g
      where g.tgrelid = t.oid and g.tgname = '_800_audit_' || e.event and g.tgenabled in ('O', 'A'))
  union all
  select 'table ' || t.name || ': declares @appendOnly but its trigger ' || g.name || ' is missing or off'
    from tables t, unnest(array['_900_append_only', '_900_no_truncate']) as g(name)
    where t.tags ? 'appendOnly' and not exists (
      select from pg_trigger p where p.tgrelid = t.oid and p.tgname = g.name and p.tgenabled in ('O', 'A'))
  union all
  select 'table ' || t.name || ': has the tags @appendOnly and `@mutations ' || (t.tags ->> 'mutations') || '`; its rows are only created'
    from tables t where t.tags ? 'appendOnly' and t.tags ->> 'mutations' ~ '\y(update|delete)\y'
  union all
  select 'table ' || t.name || ': has `@mutations create`, and its column id has no default; add `default uuidv7()`'
    from tables t join pg_attribute a on a.attrelid = t.oid and a.attname = 'id'
    where t.tags ->> 'mutations' ~ '\ycreate\y' and a.atttypid = 'uuid'::regtype and not a.atthasdef
  union all
  -- Queries of the other table show, change and delete the rows under its own policies, and record nothing.
  select 'table ' || t.name || ': inherits from ' || i.inhparent::regclass || '; write a table of its own, with a reference if the rows belong together'
    from tables t join pg_inherits i on i.inhrelid = t.oid join pg_class p on p.oid = i.inhparent where p.relkind = 'r'
  union all
  select * from function_violations()
  union all
  -- The rule about tags reports the keys of the policies that they create.
  select distinct 'policy ' || p.polname || ' on ' || t.name || ': asks for the unknown permission ' || k.found[1]
      || permission_hint(k.found[1], (select array_agg(o.key) from known_keys o))
    from tables t join pg_policy p on p.polrelid = t.oid,
      lateral regexp_matches(concat_ws(' ', pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)),
        '\mhas(?:_any)?_permission\(([^()]*)\)', 'g') as c(arguments),
      lateral regexp_matches(c.arguments[1], '''([^'']*)''', 'g') as k(found)
    where k.found[1] not in (select o.key from known_keys o) and k.found[1] not in (
      select key from unnest(array['read', 'create', 'update', 'delete']) as tag, regexp_split_to_table(btrim(t.tags ->> tag), '[\s,]+') as key)
  union all
  select * from search_rule_violations()
  union all
  select 'constraint ' || k.conname || ' on ' || t.name || ': has no message for API callers; add `comment on constraint`'
    from tables t join pg_constraint k on k.conrelid = t.oid and k.contype = 'c'
    where not t.relispartition and not t.tags ? 'internal'
      and not exists (select from pg_description d where d.classoid = 'pg_constraint'::regclass and d.objoid = k.oid)
      and k.conname not in ('invitations_state_check', 'permissions_key_check', 'campaign_colors_color_check')
  union all
  select format('constraint %I on domain %s: has no message for API callers; add `comment on constraint %1$I on domain %2$s`', k.conname, k.contypid::regtype)
    from pg_constraint k
    where k.contype = 'c' and k.contypid <> 0 and k.connamespace = (select current_schema()::regnamespace)
      and not exists (select from pg_description d where d.classoid = 'pg_constraint'::regclass and d.objoid = k.oid)
$$ language sql stable security definer set search_path from current;
comment on function schema_violations is 'Violations of the schema''s rules, each with its fix; no rows when there are none.';
grant execute on function schema_violations to office_server;
