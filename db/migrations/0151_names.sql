-- Names that differ only in composition, spaces, case or invisible characters are one name. Rows that already differ in no more
-- than that keep their references: all but the oldest get a number at the end, and the log names each.
-- lint: allow do-block because which rows collide is known only from the rows
do $$
declare
  v_table text;
  v_longest integer;
  v_row record;
  v_name text;
  v_number integer;
  v_emails text;
begin
  for v_table, v_longest in
    values ('roles', 80), ('departments', 80), ('wine_types', 80), ('reviewers', 200), ('export_templates', 100)
  loop
    for v_row in execute format(
      'select id, name from (
         select id, name, row_number() over (partition by name_key(name) order by created_at, id) as place from %1$I
       ) as t where place > 1 order by name_key(name), place', v_table
    ) loop
      v_number := 1;
      loop
        v_number := v_number + 1;
        v_name := left(tidy_name(v_row.name), v_longest - 6) || format(' (%s)', v_number);
        execute format('select $1 where not exists (select from %I where name_key(name) = name_key($1))', v_table)
          into v_name using v_name;
        exit when v_name is not null;
      end loop;
      execute format('update %I set name = $1 where id = $2', v_table) using v_name, v_row.id;
      raise warning '% %: its name differs from another only in spaces, composition or invisible characters, and is now "%"',
        v_table, v_row.id, v_name;
    end loop;
    execute format('update %I set name = tidy_name(name) where name <> tidy_name(name)', v_table);
  end loop;

  -- An address cannot be given a number, and nobody but the staff knows which of two people is meant.
  select string_agg(format('%s (users %s)', emails, ids), '; ') into v_emails
  from (
    select string_agg(quote_literal(email), ', ') as emails, string_agg(id::text, ', ') as ids from users
    group by name_key(email) having count(*) > 1
  ) as t;
  if v_emails is not null then
    raise exception 'These e-mail addresses differ only in composition or invisible characters; change all but one of each, then migrate again: %',
      v_emails;
  end if;
  update users set email = tidy_name(email) where email <> tidy_name(email);

  update erp_mapping_targets t set value = tidy_name(t.value) where t.value <> tidy_name(t.value)
    and not exists (select from erp_mapping_targets o where o.code = t.code and o.value = tidy_name(t.value));
  update erp_mapping_rules r set key = tidy_name(r.key) where r.key <> tidy_name(r.key)
    and not exists (select from erp_mapping_rules o where o.code = r.code and tidy_name(o.key) = tidy_name(r.key) and o.id <> r.id);
  for v_row in select r.id, r.code, r.key from erp_mapping_rules r where r.key <> tidy_name(r.key) loop
    raise warning 'erp_mapping_rules %: % "%" differs from another rule only in spaces or composition, and no longer applies',
      v_row.id, v_row.code, v_row.key;
  end loop;
end;
$$;

drop index roles_name_key, departments_name_key, wine_types_name_key, reviewers_name_key, export_templates_name_key, users_email_key;
-- lint: allow create-index because the table is small
create unique index wine_types_name_key on wine_types (name_key(name));
comment on index wine_types_name_key is 'A wine type of this name exists already.';
-- lint: allow create-index because the table is small
create unique index reviewers_name_key on reviewers (name_key(name));
comment on index reviewers_name_key is 'A reviewer of this name exists already.';
-- lint: allow create-index because the table is small
create unique index departments_name_key on departments (name_key(name));
comment on index departments_name_key is 'A department of this name exists already.';
-- lint: allow create-index because the table is small
create unique index roles_name_key on roles (name_key(name));
comment on index roles_name_key is 'A role of this name exists already.';
-- lint: allow create-index because the table is small
create unique index users_email_key on users (name_key(email));
comment on index users_email_key is 'A user with this e-mail address exists already.';
-- lint: allow create-index because the table is small
create unique index export_templates_name_key on export_templates (name_key(name));
comment on index export_templates_name_key is 'An export template of this name exists already.';

-- A column that a trigger names keeps its collation: such triggers are dropped, and the logic that follows makes them again.
-- lint: allow do-block because which triggers name a column depends on the release that this database comes from
do $$
declare
  v_trigger record;
begin
  for v_trigger in
    select distinct t.tgname, t.tgrelid::regclass as relation
    from pg_trigger t join pg_class c on c.oid = t.tgrelid
      join pg_depend d on d.classid = 'pg_trigger'::regclass and d.objid = t.oid and d.refclassid = 'pg_class'::regclass and d.refobjsubid > 0
      join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
    where c.relnamespace = current_schema()::regnamespace and not t.tgisinternal and a.atttypid = 'text'::regtype
      and strpos(obj_description(t.oid, 'pg_trigger'), '%TABLE%') > 0
  loop
    execute format('drop trigger %I on %s', v_trigger.tgname, v_trigger.relation);
  end loop;
end;
$$;

-- Lists of these are sorted for people. Another collation rewrites no table; the indexes of the columns are built again.
-- lint: allow alter-type because another collation rewrites no table
alter table users
  alter column email type text collate display_order,
  alter column name type text collate display_order;
-- lint: allow alter-type because another collation rewrites no table
alter table roles
  alter column name type text collate display_order;
-- lint: allow alter-type because another collation rewrites no table
alter table departments
  alter column name type text collate display_order;
-- lint: allow alter-type because another collation rewrites no table
alter table wine_types
  alter column name type text collate display_order;
-- lint: allow alter-type because another collation rewrites no table
alter table reviewers
  alter column name type text collate display_order;
-- lint: allow alter-type because another collation rewrites no table
alter table export_templates
  alter column name type text collate display_order;
-- lint: allow alter-type because another collation rewrites no table
alter table campaigns
  alter column title type text collate display_order;
-- lint: allow alter-type because another collation rewrites no table
alter table products
  alter column name type text collate display_order,
  alter column producer type text collate display_order,
  alter column grape_variety type text collate display_order,
  alter column country type text collate display_order,
  alter column province type text collate display_order,
  alter column region type text collate display_order;
-- lint: allow alter-type because another collation rewrites no table
alter table customers
  alter column name type text collate display_order,
  alter column contact_name type text collate display_order,
  alter column city type text collate display_order,
  alter column country type text collate display_order,
  alter column email type text collate display_order;
-- lint: allow alter-type because another collation rewrites no table
alter table orders
  alter column customer_name type text collate display_order,
  alter column email type text collate display_order;
-- lint: allow alter-type because another collation rewrites no table
alter table invitations
  alter column email type text collate display_order;
-- lint: allow alter-type because another collation rewrites no table
alter table ai_conversations
  alter column title type text collate display_order;
-- lint: allow alter-type because another collation rewrites no table
alter table api_tokens
  alter column name type text collate display_order;
-- lint: allow alter-type because another collation rewrites no table
alter table erp_mapping_targets
  alter column title type text collate display_order;
-- lint: allow alter-type because another collation rewrites no table
alter table export_template_columns
  alter column title type text collate display_order;
-- lint: allow alter-type because another collation rewrites no table
alter table product_prices
  alter column type type text collate "C",
  alter column currency type text collate "C";
