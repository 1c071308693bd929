-- Creates row-level security, grants, audit triggers and timestamps from the tags of tables:
--   @read, @create, @update, @delete <permission>     the permission for the verb; each of them also shows the rows
--   @mutations create update delete                   the verbs granted to the request role and offered by the API
--   @read login                                       every session and unscoped API token reads, without a permission;
--                                                     @create, @update and @delete login: and changes its rows of @owner
--   @login                                            not with a scoped token
--   @session                                          only with a session, not with an API token
--   @owner <user column> [<token column>]             rows are visible only to the user or API token named in them; mutations
--                                                     create rows of their caller, and change and delete no others
--   @shared                                           of a table with @owner: mutations also change rows that a further policy shows
--   @audit <EntityType> [id column] [except column ...], or: @audit off because <reason>
--   @watch off because <reason>                       search watches do not read it; others without an audit trail get a trigger for them
--   @appendOnly                                       rows are never changed or removed
-- and of columns: @secret (readable by no request role), @internal (not writable by the request role),
-- @mutations <verb ...> or off (writable by these verbs only), @auditName <name> (the name in the audit log).
-- Other grants on tables are revoked; a further grant belongs in a file of `logic` after this one.
create or replace function permission_check(keys text) returns text as $$
  select case count(*) when 1 then '(select has_permission(' else '(select has_any_permission(' end
    || string_agg(quote_literal(k), ', ' order by place) || '))'
  from (
    select k, min(place) as place from regexp_split_to_table(btrim(permission_check.keys), '[\s,]+') with ordinality as t(k, place)
    group by k
  ) as keys
$$ language sql immutable;

create or replace function verb_check(tags jsonb, verb text, login text) returns text as $$
  select coalesce(nullif(concat_ws(' and ',
    case when verb_check.tags ->> verb_check.verb <> 'login' then permission_check(verb_check.tags ->> verb_check.verb) end, verb_check.login), ''), 'false')
$$ language sql immutable;
comment on function verb_check is 'The condition on the caller for a verb of @mutations; `login` is that on the credential, which `@create login` takes.';

create or replace function owner_columns(tags jsonb) returns text[] as $$
  select coalesce(regexp_split_to_array(btrim(owner_columns.tags ->> 'owner'), '[\s,]+'), '{}')
$$ language sql immutable;
comment on function owner_columns is 'The columns of the tag @owner: that of the user, and that of the API token if there is one.';

create or replace function writable_columns(relation regclass, verb text) returns text as $$
  select string_agg(quote_ident(a.attname), ', ' order by a.attnum)
  from pg_attribute a left join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = a.attrelid and d.objsubid = a.attnum,
    lateral comment_tags(d.description) as c(tags), owner_columns(table_tags(writable_columns.relation)) as o(names)
  where a.attrelid = writable_columns.relation and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    and a.attname not in ('id', 'created_at', 'updated_at') and not c.tags ?| array['secret', 'internal']
    and a.attname <> all (o.names)
    and coalesce(c.tags ->> 'mutations', writable_columns.verb) ~ ('\y' || writable_columns.verb || '\y')
$$ language sql stable;
comment on function writable_columns is 'The columns that a verb of @mutations may write, as a list for a grant.';

-- A session sees all rows of its user, also those of API tokens; an API token sees only its own.
create or replace function own_check(columns text) returns text as $$
  select format('%I = (select current_user_id())', c[1])
    || case when c[2] is null then '' else format(' and ((select current_token_id()) is null or %I = (select current_token_id()))', c[2]) end
  from regexp_split_to_array(btrim(own_check.columns), '[\s,]+') as c
$$ language sql immutable strict;

create or replace function protect_table(relation regclass) returns void as $$
declare
  v_tags jsonb := table_tags(relation);
  -- The start of the names of its policies. Names are cut to 63 characters.
  v_name text := (select left(relname, 50) from pg_class where oid = protect_table.relation);
  v_readers text;
  v_login text;
  v_own text;
  v_check text;
  v_audit text[];
  v_search text := case when v_tags ? 'searchCollection' then 'search' else '' end;
  v_columns text;
  v_class record;
begin
  select relrowsecurity, relforcerowsecurity into v_class from pg_class where oid = relation;
  if not (v_class.relrowsecurity and v_class.relforcerowsecurity) then
    -- A table with such a policy is not new, so row-level security was switched off by hand.
    if exists (select from pg_policy where polrelid = relation and polname in (v_name || '_owner', v_name || '_owner_read')) then
      raise warning 'table %: row-level security was off and is enabled again; use `ensure_policy` to show more rows', relation;
    end if;
    execute format('alter table %s enable row level security', relation);
    execute format('alter table %s force row level security', relation);
  end if;

  -- Also revokes column privileges. Other sessions see the old privileges until this transaction commits.
  execute format('revoke all privileges on %s from office_api, office_worker cascade', relation);

  -- The owner role runs migrations and security definer functions. On an append-only table it may only insert.
  if v_tags ? 'appendOnly' then
    perform ensure_policy(relation, v_name || '_owner_read', 'select', 'office_owner', 'true');
    perform ensure_policy(relation, v_name || '_owner_add', 'insert', 'office_owner', null, 'true');
    perform ensure_trigger(relation, '_900_append_only',
      'before update or delete on %TABLE% for each row execute function tg__append_only()');
    perform ensure_trigger(relation, '_900_no_truncate',
      'before truncate on %TABLE% for each statement execute function tg__append_only()');
  else
    perform ensure_policy(relation, v_name || '_owner', 'all', 'office_owner', 'true', 'true');
  end if;

  v_login := nullif(concat_ws(' and ', case when v_tags ? 'session' then '(select is_session())' end,
    case when v_tags ? 'login' or v_tags ->> 'read' = 'login' then '(select is_login())' end), '');
  v_own := case when exists (
      select from unnest(owner_columns(v_tags)) as c(name)
      where not exists (
        select from pg_attribute a
        where a.attrelid = relation and a.attname = c.name and a.attnum > 0 and not a.attisdropped and a.atttypid = 'uuid'::regtype)
    ) then 'false' else own_check(v_tags ->> 'owner') end;
  -- A permission to change rows also shows them, because a mutation returns its row.
  v_readers := concat_ws(' ', v_tags ->> 'read', v_tags ->> 'create', v_tags ->> 'update', v_tags ->> 'delete');
  if v_tags ? 'read' then
    perform ensure_policy(relation, v_name || '_read', 'select', 'office_api',
      concat_ws(' and ', case when v_tags ->> 'read' <> 'login' then permission_check(v_readers) end, v_login, v_own));
    select string_agg(quote_ident(a.attname), ', ' order by a.attnum) into v_columns
    from pg_attribute a left join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = a.attrelid and d.objsubid = a.attnum
    where a.attrelid = relation and a.attnum > 0 and not a.attisdropped
      and not comment_tags(d.description) ? 'secret';
    -- `xmin` is part of a row's version.
    execute format('grant select (%s, xmin) on %s to office_api', v_columns, relation);
  end if;
  if v_tags ->> 'mutations' ~ '\ycreate\y' then
    perform ensure_policy(relation, v_name || '_create', 'insert', 'office_api', null,
      verb_check(v_tags, 'create', v_login));
    v_columns := writable_columns(relation, 'create');
    if v_columns is not null then
      execute format('grant insert (%s) on %s to office_api', v_columns, relation);
    end if;
  end if;
  if v_tags ? 'owner' and v_tags ->> 'mutations' ~ '\ycreate\y' then
    perform ensure_trigger(relation, '_060_owner', format(
      'before insert on %%TABLE%% for each row execute function tg__owner(%s)',
      (select string_agg(quote_literal(c), ', ' order by place) from unnest(owner_columns(v_tags)) with ordinality as t(c, place))));
  end if;
  if v_tags ? 'shared' then
    v_own := null;
  end if;
  if v_tags ->> 'mutations' ~ '\yupdate\y' then
    v_check := concat_ws(' and ', verb_check(v_tags, 'update', v_login), v_own);
    perform ensure_policy(relation, v_name || '_update', 'update', 'office_api', v_check, v_check);
    v_columns := writable_columns(relation, 'update');
    if v_columns is not null then
      execute format('grant update (%s) on %s to office_api', v_columns, relation);
    end if;
  end if;
  if v_tags ->> 'mutations' ~ '\ydelete\y' then
    perform ensure_policy(relation, v_name || '_delete', 'delete', 'office_api',
      concat_ws(' and ', verb_check(v_tags, 'delete', v_login), v_own));
    execute format('grant delete on %s to office_api', relation);
  end if;

  if exists (select from pg_attribute where attrelid = relation and attname = 'updated_at' and not attisdropped) then
    perform ensure_trigger(relation, '_100_timestamps',
      format('before update on %%TABLE%% for each row execute function tg__timestamps(%s)', (
        select quote_literal(attname) from pg_attribute
        where attrelid = relation and attname = 'search_words' and attgenerated = 's' and not attisdropped)));
  end if;

  -- Unique names are stored in the form of `normalize_name`.
  select string_agg(quote_literal(a.attname), ', ' order by a.attnum) into v_columns
  from pg_attribute a
  where a.attrelid = relation and exists (
    select from pg_index i
    where i.indrelid = relation and i.indisunique and pg_get_indexdef(i.indexrelid, 1, true) = format('name_key(%I)', a.attname)
  );
  if v_columns is not null then
    perform ensure_trigger(relation, '_050_normalize_names',
      format('before insert or update on %%TABLE%% for each row execute function tg__normalize_names(%s)', v_columns));
  end if;

  -- `<EntityType> [id column] [except column ...]`; secrets and `search_words` are always excluded, and columns use
  -- their API names.
  v_audit := regexp_match(v_tags ->> 'audit', '^(\w+)(?:\s+(?!except\y)(\w+))?(?:\s+except\s+(.+))?$');
  if v_tags ->> 'audit' !~ '^off\y' and v_audit is not null then
    select string_agg(', ' || quote_literal(c), '') into v_columns
    from (
      select regexp_split_to_table(btrim(v_audit[3]), '\s+')
      union
      select n.name
      from pg_attribute a left join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = a.attrelid and d.objsubid = a.attnum,
        lateral comment_tags(d.description) as t(tags),
        lateral (
          select a.attname where t.tags ? 'secret' or a.attname = 'search_words' and a.attgenerated = 's'
          union all select a.attname || '=' || (t.tags ->> 'auditName') where t.tags ? 'auditName'
        ) as n(name)
      where a.attrelid = relation and a.attnum > 0 and not a.attisdropped
    ) as a(c);
    perform ensure_trigger(relation, '_800_audit_' || lower(event), format(
      'after %s on %%TABLE%% referencing %s for each statement execute function tg__audit(%L, %L, %L%s)',
      event, tables, v_audit[1], coalesce(v_audit[2], 'id'), v_search, coalesce(v_columns, '')
    ))
    from (values
      ('INSERT', 'new table as new_rows'), ('UPDATE', 'old table as old_rows new table as new_rows'),
      ('DELETE', 'old table as old_rows')
    ) as e(event, tables);
  elsif v_tags ? 'read' and (not v_tags ? 'watch' or v_tags ? 'searchCollection') then
    perform ensure_trigger(relation, '_800_changes_' || lower(event),
      format('after %s on %%TABLE%% referencing %s for each statement execute function tg__row_changes(%L)', event, tables, v_search))
    from (values
      ('INSERT', 'new table as new_rows'), ('UPDATE', 'old table as old_rows new table as new_rows'),
      ('DELETE', 'old table as old_rows')
    ) as e(event, tables);
  end if;
end;
$$ language plpgsql volatile;
comment on function protect_table is 'Applies the tags of a table. Malformed tags grant nothing; `tag_violations` reports them.';

-- A view reads with its caller's privileges, under the policies of its tables, so it needs only a grant.
create or replace function protect_views() returns void as $$
declare
  v_view regclass;
begin
  for v_view in
    select c.oid from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind = 'v'
  loop
    execute format('revoke all privileges on %s from office_api, office_worker cascade', v_view);
    if table_tags(v_view) ? 'read' then
      execute format('grant select on %s to office_api', v_view);
    end if;
  end loop;
end;
$$ language plpgsql volatile;
comment on function protect_views is 'Applies the tag @read to all views, including those created in `logic`.';

do $$
declare
  v_table regclass;
begin
  for v_table in
    select c.oid from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  loop
    perform protect_table(v_table);
  end loop;
  -- Partitions are accessible only through their parent.
  for v_table in
    select c.oid from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and c.relispartition
      and not (c.relrowsecurity and c.relforcerowsecurity)
  loop
    execute format('alter table %s enable row level security', v_table);
    execute format('alter table %s force row level security', v_table);
  end loop;
end;
$$;
