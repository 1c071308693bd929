-- Erases the personal data of customers and of former users: the columns with the tag @personal.

-- With a reference, the column holds data of the referenced row; without one, data of the row that it is in.
drop function if exists personal_columns(regclass);
create function personal_columns(subject regclass)
returns table (relation regclass, reference text, name text, instead text) as $$
  select a.attrelid::regclass, g.reference, a.attname::text, coalesce(g.instead, case when a.attnotnull then 'Erased' end)
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped,
    lateral comment_tags(col_description(a.attrelid, a.attnum)) as t(tags),
    lateral (select substring(t.tags ->> 'personal' from '^\w+'), substring(t.tags ->> 'personal' from '^\w+ (.+)$')) as g(reference, instead)
  where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and t.tags ? 'personal'
    and (
      g.reference is null and c.oid = personal_columns.subject
      or exists (
        select from pg_constraint k join pg_attribute r on r.attrelid = k.conrelid and r.attnum = k.conkey[1]
        where k.conrelid = c.oid and k.contype = 'f' and k.confrelid = personal_columns.subject and cardinality(k.conkey) = 1
          and r.attname = g.reference)
    )
$$ language sql stable;
comment on function personal_columns is 'The columns with personal data of the rows of a table, also those of other tables.';

-- The same columns with the names of the audit log; without an entity type for a table without audit.
create or replace function audited_personal_columns(subject regclass)
returns table (relation regclass, reference text, name text, audit_name text, entity text, key text) as $$
  select p.relation, p.reference, p.name,
    coalesce(comment_tags(col_description(p.relation, n.attnum)) ->> 'auditName', camel_case(p.name)), a.audit[1], coalesce(a.audit[2], 'id')
  from personal_columns(audited_personal_columns.subject) as p
    join pg_attribute n on n.attrelid = p.relation and n.attname = p.name,
    lateral regexp_match(table_tags(p.relation) ->> 'audit', '^(?!off\y)(\w+)(?:\s+(?!except\y)(\w+))?') as a(audit)
$$ language sql stable;

-- Runs with each migration, before a later one renames or drops a column or a table.
create or replace function remember_personal_columns() returns void as $$
  insert into personal_column_names (subject, entity, reference, name)
  select s.entity, p.entity, coalesce(camel_case(p.reference), ''), p.audit_name
  from (values ('customers', 'Customer'), ('users', 'User')) as s(relation, entity), audited_personal_columns(s.relation::regclass) as p
  where p.entity is not null
  on conflict do nothing
$$ language sql volatile;
comment on function remember_personal_columns is 'Adds the columns with personal data of this moment to those that ever held some.';
select remember_personal_columns();

create or replace function erased_values(relation regclass, subject regclass) returns jsonb as $$
  select jsonb_object_agg(p.name, p.instead)
  from personal_columns(erased_values.subject) as p where p.relation = erased_values.relation
$$ language sql stable;
comment on function erased_values is 'The values of personal columns after an erasure: null, the value of the tag, or `Erased` where a text is required.';

create or replace function without_personal(changed jsonb, names text[]) returns jsonb as $$
  select jsonb_object_agg(c.key, case when c.key = any (without_personal.names) and c.value <> 'null' then '"[erased]"' else c.value end)
  from jsonb_each(without_personal.changed) as c
$$ language sql immutable;

-- `erasing` lets the trigger of append-only tables pass; only this function changes audit rows.
create or replace function erase_audit_values(erasure_id uuid, entity_type text, entity_ids text[], names text[]) returns void as $$
  with changed as (
    update audit_log a set before = without_personal(a.before, names), after = without_personal(a.after, names)
    from (
      select o.id, o.operation, o.created_at, audit_row_hash(o) as hash
      from audit_log o
      where o.operation in ('CREATE', 'UPDATE', 'DELETE') and o.entity_type = erase_audit_values.entity_type
        and o.entity_id = any (entity_ids)
        and (o.before ?| names or o.after ?| names)
    ) as o
    where a.id = o.id and a.operation = o.operation and a.created_at = o.created_at
    returning a.id, o.hash as hash_before, audit_row_hash(a) as hash_after
  )
  insert into audit_erasures (erasure_id, audit_log_id, hash_before, hash_after)
  select erase_audit_values.erasure_id, c.id, c.hash_before, c.hash_after from changed c where c.hash_before <> c.hash_after
$$ language sql volatile;

-- A restored row gets the values of its deletion, so a restore waits for an erasure, and an erasure for restores.
create or replace function erasure_lock() returns bigint as $$
  select hashtextextended(concat_ws('.', current_schema(), 'erasure') collate "C", 0)
$$ language sql stable;
comment on function erasure_lock is 'The advisory lock that separates erasures, which hold it alone, from restores, which share it.';

-- Whole words, so that a short name does not change others. A name can be a usual word, such as “export” before the @ of an
-- address without a name, so it is replaced only where names stand.
drop function if exists replace_in_notifications(text, text);
create or replace function replace_in_notifications(name text, instead text, kinds notification_kind[] default null) returns void as $$
  update notifications n set title = regexp_replace(n.title, p.pattern, instead, 'g'), body = regexp_replace(n.body, p.pattern, instead, 'g')
  from (select '(?<!\w)' || regexp_replace(replace_in_notifications.name, '([^\w\s])', '\\\1', 'g') || '(?!\w)' as pattern) as p
  where (kinds is null or n.kind = any (kinds)) and (n.title ~ p.pattern or n.body ~ p.pattern)
$$ language sql volatile;
comment on function replace_in_notifications is
  'Replaces the name or address of an erased person in the notifications of colleagues, of all kinds or the given ones.';

create or replace function erasure_digest(erasure_id uuid) returns text as $$
  select encode(sha256(convert_to(coalesce(string_agg(
    concat_ws('|', e.audit_log_id, encode(e.hash_before, 'hex'), encode(e.hash_after, 'hex')), ',' order by e.audit_log_id
  ), ''), 'UTF8')), 'hex')
  from audit_erasures e where e.erasure_id = erasure_digest.erasure_id
$$ language sql stable;
comment on function erasure_digest is 'SHA-256 over the audit rows that an erasure changed.';

create or replace function audited_rows_of(entity_type text, reference text, id uuid) returns text[] as $$
  select array(
    select distinct a.entity_id from audit_log a
    where a.entity_type = audited_rows_of.entity_type and a.operation in ('CREATE', 'UPDATE', 'DELETE')
      and audited_rows_of.id::text in (a.before ->> audited_rows_of.reference, a.after ->> audited_rows_of.reference))
$$ language sql stable;
comment on function audited_rows_of is 'The ids of the rows that refer to a row, or did once, by the audit log.';

create or replace function erase_personal_data(subject regclass, id uuid, entity_type text, instead jsonb default '{}') returns void as $$
declare
  v_erasure uuid := uuidv7();
  v_part record;
  v_ids text[];
begin
  perform set_config('office.erasing', 'on', true);
  for v_part in
    select p.relation, p.reference, array_agg(p.name) as columns, array_agg(p.audit_name) as names, p.entity, p.key
    from audited_personal_columns(subject) as p
    group by p.relation, p.reference, p.entity, p.key
    -- The subject first: triggers copy its name into other tables.
    order by p.reference is not null, p.relation::text
  loop
    -- lint: allow function-body because the table is one with the tag @personal
    execute format(
      'update %1$s t set %2$s from jsonb_populate_record(null::%1$s, $1) as r where t.%3$I = $2', v_part.relation,
      (select string_agg(format('%1$I = r.%1$I', c), ', ') from unnest(v_part.columns) as c), coalesce(v_part.reference, 'id')
    ) using erased_values(v_part.relation, subject) || case when v_part.reference is null then instead else '{}' end, id;
    continue when v_part.entity is null;
    -- lint: allow function-body because the table is one with the tag @personal
    execute format(
      'select array(select t.%I::text from %s t where t.%I = $1)', v_part.key, v_part.relation, coalesce(v_part.reference, 'id')
    ) into v_ids using id;
    -- Also rows that belonged to the subject once: those that were deleted or handed over.
    if v_part.reference is not null then
      v_ids := v_ids || audited_rows_of(v_part.entity, camel_case(v_part.reference), id);
    end if;
    perform erase_audit_values(v_erasure, v_part.entity, v_ids, v_part.names);
    delete from search_watch_notices n where n.row_id::text = any (v_ids);
  end loop;
  -- Values of columns and tables that were renamed or dropped are in the audit log only.
  for v_part in
    select f.entity, f.reference, array_agg(f.name) as names
    from personal_column_names f
    where f.subject = erase_personal_data.entity_type and not exists (
      select from audited_personal_columns(erase_personal_data.subject) as p
      where (p.entity, coalesce(camel_case(p.reference), ''), p.audit_name) = (f.entity, f.reference, f.name))
    group by f.entity, f.reference
  loop
    perform erase_audit_values(v_erasure, v_part.entity,
      case v_part.reference when '' then array[id::text] else audited_rows_of(v_part.entity, v_part.reference, id) end, v_part.names);
  end loop;
  perform set_config('office.erasing', '', true);
  perform end_list_exports();
  insert into audit_log (
    id, actor_user_id, operation, entity_type, entity_id, correlation_id, ip_address, user_agent, metadata
  )
  values (
    v_erasure, current_user_id(), 'UPDATE', erase_personal_data.entity_type, erase_personal_data.id::text,
    nullif(current_setting('office.correlation_id', true), ''), nullif(current_setting('office.ip_address', true), ''),
    nullif(current_setting('office.user_agent', true), ''),
    audit_metadata() || jsonb_build_object('erasure', jsonb_build_object(
      'rows', (select count(*) from audit_erasures e where e.erasure_id = v_erasure), 'digest', erasure_digest(v_erasure)))
  );
end;
$$ language plpgsql volatile;
comment on function erase_personal_data is
  'Empties the personal columns of a row and of the rows that belong to it, and their values in the audit log; records that.';

select ensure_policy('audit_log', 'audit_log_owner_erase', 'update', 'office_owner', '(select is_erasing())', 'true');

create or replace function anonymise_customer(id uuid) returns customers as $$
declare
  v_customer customers;
begin
  perform require_all_permissions('customers.erase', 'customers.read');
  perform pg_advisory_xact_lock(erasure_lock());
  select * into v_customer from customers c where c.id = anonymise_customer.id for update;
  if not found then
    perform fail('OF404', 'There is no customer with this id', '{"path": ["id"]}');
  elsif v_customer.erased_at is not null then
    perform fail('OF409', 'The customer is anonymised already', '{"path": ["id"]}');
  end if;
  -- Watches quote the beginning of a note as its name.
  perform replace_in_notifications(watched_row_text(n.body), 'Erased') from customer_notes n where n.customer_id = anonymise_customer.id;
  delete from search_watch_notices x
  where x.row_id = anonymise_customer.id or x.row_id in (select n.id from customer_notes n where n.customer_id = anonymise_customer.id);
  delete from customer_notes n where n.customer_id = anonymise_customer.id;
  update customers c set erased_at = now() where c.id = anonymise_customer.id;
  update orders o set erased_at = now() where o.customer_id = anonymise_customer.id;
  -- Watches name the rows that match.
  perform replace_in_notifications(v_customer.name, 'Erased', '{WATCH_MATCHED}');
  perform erase_personal_data('customers', anonymise_customer.id, 'Customer');
  select * into v_customer from customers c where c.id = anonymise_customer.id;
  return v_customer;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function anonymise_customer is '@guard customers.erase customers.read
@action bad unless erased_at
Permanently erases the personal data of a customer: from the customer and its orders, the notes about it, searches and the audit log. Amounts and lines of orders stay. Imports from the ERP do not restore the data.';

create or replace function anonymise_user(user_id uuid) returns users as $$
declare
  v_user users;
begin
  perform require_full_login();
  perform require_permission('users.update');
  perform pg_advisory_xact_lock(erasure_lock());
  v_user := changeable_user(anonymise_user.user_id);
  if v_user.is_active then
    perform fail('OF409', 'The user is active: deactivate them first', '{"path": ["userId"]}');
  elsif v_user.erased_at is not null then
    perform fail('OF409', 'The user is anonymised already', '{"path": ["userId"]}');
  end if;
  -- As for a deactivation.
  perform require_revocable(user_permissions(v_user.id));
  -- Nobody decides on the absences of a former user, and what they booked is free again.
  update absences a set status = 'CANCELLED' where a.user_id = v_user.id and a.status = 'REQUESTED';
  update resource_bookings b set status = 'CANCELLED' where b.booked_by_user_id = v_user.id and b.status = 'BOOKED' and b.ends_at > now();
  delete from notifications n
  where n.user_id = v_user.id
    or n.entity = 'Absence' and n.entity_id in (select a.id::text from absences a where a.user_id = v_user.id)
    or n.entity = 'Invitation' and n.entity_id in (select i.id::text from invitations i where i.user_id = v_user.id);
  delete from notification_preferences p where p.user_id = v_user.id;
  delete from search_watches w where w.user_id = v_user.id;
  delete from calendar_feeds f where f.user_id = v_user.id;
  delete from saved_views v where v.user_id = v_user.id and v.role_id is null;
  -- Those who hold the role keep the others.
  update saved_views v set user_id = current_user_id() where v.user_id = v_user.id;
  delete from ai_conversations c where c.user_id = v_user.id;
  -- Files that were not sent belong to no conversation.
  delete from ai_attachments a where a.user_id = v_user.id;
  delete from user_identities i where i.user_id = v_user.id;
  delete from notifications n
  where n.entity = 'Job' and n.entity_id in (
    select j.id::text from jobs j join invitations i on j.input ->> 'invitationId' = i.id::text
    where j.kind = 'send_invitation' and i.user_id = v_user.id);
  update jobs j set subject = 'Invitation', error = null
  from invitations i
  where j.kind = 'send_invitation' and j.input ->> 'invitationId' = i.id::text and i.user_id = v_user.id;
  perform replace_in_notifications(v_user.email, 'Former user');
  perform replace_in_notifications(user_name(v_user.id), 'Former user',
    '{BOOKING_CHANGED,ABSENCE_REQUESTED,ABSENCE_DECIDED,WORK_HANDED_OVER,WATCH_MATCHED,TOKEN_CREATED}');
  update users u set erased_at = now() where u.id = v_user.id;
  perform erase_personal_data('users', v_user.id, 'User',
    jsonb_build_object('email', format('erased-%s@erased.invalid', v_user.id), 'name', 'Former user'));
  select * into v_user from users u where u.id = v_user.id;
  return v_user;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function anonymise_user is '@guard login users.update
@action bad unless is_active
@argument user_id An inactive user.
Permanently erases the personal data of a former user: name, e-mail address, picture, time zone, language, the types of absences and the names of API tokens, the conversations with the assistant and files for it, notifications, search watches, calendar feeds and saved views, and the values in the audit log. Requested absences and coming bookings are cancelled. Campaigns, bookings and decisions stay, attributed to a former user; views that are shared with a role become yours. The user can no longer be activated.';
grant execute on function anonymise_customer, anonymise_user to office_api;

-- Recorded in the log itself, so that nobody can hide a change by a made-up erasure.
create or replace function is_recorded_erasure(erasure_id uuid) returns boolean as $$
  select exists (
    select from audit_log a
    where a.id = is_recorded_erasure.erasure_id and a.operation = 'UPDATE'
      and a.metadata #>> '{erasure,digest}' = erasure_digest(is_recorded_erasure.erasure_id))
$$ language sql stable;
comment on function is_recorded_erasure is 'Whether an audit row records exactly these changes of an erasure.';

create or replace function audit_erasures_made() returns table (
  erasure_id uuid, created_at timestamptz, actor_user_id uuid, entity_type text, entity_id text, rows bigint, is_recorded boolean
) as $$
  select e.erasure_id, a.created_at, a.actor_user_id, a.entity_type, a.entity_id, e.rows, is_recorded_erasure(e.erasure_id)
  from (select x.erasure_id, count(*) as rows from audit_erasures x group by 1) as e
    left join audit_log a on a.id = e.erasure_id and a.operation = 'UPDATE'
  order by e.erasure_id
$$ language sql stable;
comment on function audit_erasures_made is 'The erasures that explain changed rows, with who made them; the first columns are null where the log does not record one.';
