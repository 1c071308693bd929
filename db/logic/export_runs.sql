-- The worker's part of an export: start, progress and end. Permissions are checked when the export starts and when
-- its file is finished, because its user may have lost them.

create or replace function end_export(job_id uuid, state text, message text) returns void as $$
begin
  update export_jobs j
  set state = end_export.state, error_message = end_export.message, finished_at = clock_timestamp()
  where j.id = end_export.job_id;
  delete from export_job_products p where p.job_id = end_export.job_id;
  delete from export_job_lists l where l.job_id = end_export.job_id;
  perform schedule_file_deletion(array(select f.key from stored_files f where f.job_id = end_export.job_id));
end;
$$ language plpgsql volatile;
comment on function end_export is 'Ends an export without a file.';

create or replace function export_permissions(job export_jobs) returns text[] as $$
begin
  return case when job.token_id is null then user_permissions(job.user_id) else token_permissions(job.token_id) end;
end;
$$ language plpgsql stable;
comment on function export_permissions is 'The present permissions of who asked for an export.';

create or replace function is_scoped_export(job export_jobs) returns boolean as $$
  select coalesce((select t.is_scoped from api_tokens t where t.id = job.token_id), false)
$$ language sql stable;

-- The reason why the user may not read the rows; null when they may.
drop function if exists export_refusal(export_jobs, text[], text[]);
create or replace function export_refusal(job export_jobs, list export_job_lists) returns text as $$
  select case
    when not exists (select from users u where u.id = job.user_id and u.is_active)
      then 'The user of this export is not active any more'
    when job.token_id is not null and not exists (
      select from api_tokens t where t.id = job.token_id and t.revoked_at is null and t.expires_at > now()
    ) then 'The API token that asked for this export was revoked or has expired'
    else (
      select 'The user of this export no longer holds the permission ' || k
      from unnest(array['exports.create', case when list.job_id is null then 'products.read'
        else nullif(table_tags(to_regclass(list.table_name)) ->> 'read', 'login') end]) as k
      where k <> all (export_permissions(job)) limit 1
    )
  end
$$ language sql stable;

create or replace function export_file_key(job export_jobs, attempt integer) returns text as $$
  select format('%s/exports/%s/%s.%s', current_schema(), export_file_key.job.id, export_file_key.attempt, export_file_key.job.format)
$$ language sql stable;
comment on function export_file_key is 'The object store key of an attempt''s file.';

-- The permissions that show the rows of a table by the policies of `protect_table`, of which one is enough; null for a
-- table that every login reads.
create or replace function showing_permissions(table_name text) returns text[] as $$
  select case when t.tags ->> 'read' is distinct from 'login' then regexp_split_to_array(
    concat_ws(' ', t.tags ->> 'read', t.tags ->> 'create', t.tags ->> 'update', t.tags ->> 'delete'), '[\s,]+') end
  from (select table_tags(to_regclass(showing_permissions.table_name))) as t(tags)
$$ language sql stable;

-- Whether a principal sees the rows of a table. A worker has no session.
create or replace function shows_rows(table_name text, permissions text[], is_scoped boolean) returns boolean as $$
  select not t.tags ? 'session' and not (is_scoped and (t.tags ? 'login' or k.keys is null))
    and (k.keys is null or k.keys && permissions)
  from table_tags(to_regclass(shows_rows.table_name)) as t(tags), showing_permissions(shows_rows.table_name) as k(keys)
$$ language sql stable;

-- What a caller needs to download the file of a list: of each item, permissions separated by spaces, one. The file of an
-- export of products needs `exports.read` only.
create or replace function needed_permissions(list export_job_lists, columns jsonb) returns text[] as $$
  select coalesce(array_agg(distinct array_to_string(showing_permissions(t.name), ' ')), '{}')
  from (
    select list.table_name
    union
    select name
    from jsonb_array_elements(list.columns) with ordinality as l(value, place)
      join jsonb_array_elements(needed_permissions.columns) with ordinality as c(value, place) using (place),
      jsonb_array_elements_text(l.value -> 'tables') as name
    where not (c.value ->> 'hidden')::boolean
  ) as t(name)
  where showing_permissions(t.name) is not null
$$ language sql stable;

create or replace function export_file_columns(
  template export_templates, list export_job_lists, permissions text[], is_scoped boolean
) returns jsonb as $$
  with fields as (
    select f.place, f.field, f.kind::text, f.title, not string_to_array(f.keys, ' ') && permissions as hidden
    from find_export_fields(template_fields(template)) as f
    where list.job_id is null
    union all
    select l.place, l.value ->> 'field', l.value ->> 'kind', l.value ->> 'title', exists (
      select from jsonb_array_elements_text(l.value -> 'tables') as t(name) where not shows_rows(t.name, permissions, is_scoped)
    )
    from jsonb_array_elements(list.columns) with ordinality as l(value, place)
  )
  select jsonb_agg(jsonb_build_object(
    'field', f.field, 'kind', f.kind, 'title', coalesce(c.title, f.title), 'width', c.width, 'numberFormat', c.number_format,
    'hidden', f.hidden
  ) order by f.place)
  from fields f
    left join export_template_columns c on c.template_id = template.id and c.position = f.place and template.workbook_id is null
$$ language sql stable;
comment on function export_file_columns is 'The columns of a file: the fields of products or of a list, laid out by the template.';

-- The reason why a template cannot be used any more; null when it can.
create or replace function template_refusal(job export_jobs, template export_templates, list export_job_lists) returns text as $$
declare
  v_changed text := 'The template was changed before the export ran: ';
begin
  if list.job_id is not null and not list.is_by_template then
    return null;
  elsif template.id is null then
    return 'The template was deleted before the export ran';
  elsif format_problem(template, job.format) is not null then
    return v_changed || format_problem(template, job.format);
  elsif list.job_id is null then
    return (
      select 'The template shows what products do not have any more: ' || string_agg(f.field, ', ')
      from find_export_fields(template_fields(template)) as f where f.title is null
    );
  elsif template_fields(template) <> array(
    select c.value ->> 'field' from jsonb_array_elements(list.columns) with ordinality as c(value, place) order by c.place
  ) then
    return v_changed || 'request the export again';
  end if;
  return null;
end;
$$ language plpgsql stable;

-- Workers of an older release pass no formats, because they support only xlsx.
create or replace function begin_export(job_id uuid, formats text[] default '{xlsx}') returns jsonb as $$
declare
  v_job export_jobs;
  v_permissions text[];
  v_template export_templates;
  v_workbook export_workbooks;
  v_list export_job_lists;
  v_refusal text;
  v_key text;
  v_columns jsonb;
begin
  select * into v_job from export_jobs j where j.id = begin_export.job_id for update;
  if not found or v_job.state not in ('queued', 'running') then
    return null;
  elsif v_job.entity is not null and 'list' <> all (begin_export.formats) then
    raise exception 'This worker does not support exports of lists';
  elsif v_job.format <> all (begin_export.formats) then
    raise exception 'This worker does not support the format %', v_job.format;
  end if;
  v_permissions := export_permissions(v_job);
  select * into v_list from export_job_lists l where l.job_id = v_job.id;
  v_refusal := export_refusal(v_job, v_list);
  select * into v_template from export_templates t where t.id = v_job.template_id;
  select * into v_workbook from export_workbooks w where w.id = v_template.workbook_id;
  v_refusal := coalesce(v_refusal, template_refusal(v_job, v_template, v_list));
  if v_refusal is not null then
    perform end_export(v_job.id, 'failed', v_refusal);
    return jsonb_build_object('refusal', v_refusal);
  end if;

  -- Each attempt writes its own file, because an earlier worker may have died during the upload.
  perform schedule_file_deletion(array(select f.key from stored_files f where f.job_id = v_job.id));
  v_key := export_file_key(v_job, v_job.attempt + 1);
  insert into stored_files (key, job_id) values (v_key, v_job.id);
  v_columns := export_file_columns(v_template, v_list, v_permissions, is_scoped_export(v_job));
  update export_jobs j
  set state = 'running', attempt = j.attempt + 1, exported_rows = 0, error_message = null,
    started_at = coalesce(j.started_at, clock_timestamp()),
    needed_permissions = case when v_list.job_id is null then '{}' else needed_permissions(v_list, v_columns) end
  where j.id = v_job.id
  returning * into v_job;
  return jsonb_build_object(
    'attempt', v_job.attempt, 'format', v_job.format, 'failures', v_job.failures, 'key', v_key, 'source', v_job.source,
    'kind', coalesce(v_template.kind, 'TABLE'), 'values', v_list.statement_values,
    'workbookKey', v_workbook.file_key, 'userId', v_job.user_id, 'tokenId', v_job.token_id,
    'permissions', v_permissions, 'scoped', is_scoped_export(v_job),
    'totalRows', v_job.total_rows, 'timeZone', time_zone_of(v_job.user_id),
    'query', coalesce(v_list.statement, export_query(template_fields(v_template))),
    'columns', v_columns
  );
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function begin_export is
  'Starts an attempt and returns its user, query and file key; null when nothing is left to do. With `refusal` when the export cannot run and has failed.';

create or replace function own_export_products(job_id uuid) returns table (product_id uuid, place integer) as $$
  select u.product_id, u.place::integer
  from export_jobs j
    join export_job_products p on p.job_id = j.id,
    unnest(p.product_ids) with ordinality as u(product_id, place)
  where j.id = own_export_products.job_id
    and j.user_id = current_user_id() and j.token_id is not distinct from current_token_id()
$$ language sql stable security definer set search_path from current;
comment on function own_export_products is 'The products of an export of the caller in progress, in their order.';
grant execute on function own_export_products to office_api;

create or replace function record_export_progress(job_id uuid, attempt integer, rows integer) returns boolean as $$
begin
  -- Rows that were added since the request was counted are exported too.
  update export_jobs j set exported_rows = record_export_progress.rows, total_rows = greatest(j.total_rows, record_export_progress.rows)
  where j.id = record_export_progress.job_id and j.state = 'running' and j.attempt = record_export_progress.attempt;
  return found;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function record_export_progress is 'Records the number of written rows; false when the export was cancelled or deleted.';

-- Workers of an older release pass no columns.
drop function if exists complete_export(uuid, integer, integer, integer, text[], integer);
create or replace function complete_export(
  job_id uuid, attempt integer, rows integer, file_size integer, notes text[], keep_days integer, columns jsonb default null
) returns boolean as $$
declare
  v_job export_jobs;
  v_template export_templates;
  v_list export_job_lists;
  v_refusal text;
begin
  select * into v_job from export_jobs j
  where j.id = complete_export.job_id and j.state = 'running' and j.attempt = complete_export.attempt for update;
  if not found then
    return false;
  end if;
  -- As at the start: a permission may have been withdrawn while the file was written.
  select * into v_list from export_job_lists l where l.job_id = v_job.id;
  select * into v_template from export_templates t where t.id = v_job.template_id;
  v_refusal := export_refusal(v_job, v_list);
  if v_refusal is null and exists (
    select from jsonb_array_elements(complete_export.columns) with ordinality as c(value, place)
      join jsonb_array_elements(export_file_columns(v_template, v_list, export_permissions(v_job), is_scoped_export(v_job)))
        with ordinality as o(value, place) using (place)
    where (o.value ->> 'hidden')::boolean and not (c.value ->> 'hidden')::boolean
  ) then
    v_refusal := 'The user of this export lost a permission while it ran: start it again';
  end if;
  if v_refusal is not null then
    perform end_export(v_job.id, 'failed', v_refusal);
    return false;
  end if;
  update export_jobs j
  set state = 'completed', exported_rows = complete_export.rows, total_rows = greatest(j.total_rows, complete_export.rows),
    file_size = complete_export.file_size,
    notes = complete_export.notes, file_key = export_file_key(j, j.attempt),
    finished_at = clock_timestamp(), expires_at = clock_timestamp() + make_interval(days => complete_export.keep_days)
  where j.id = v_job.id;
  delete from export_job_products p where p.job_id = v_job.id;
  delete from export_job_lists l where l.job_id = v_job.id;
  return true;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function complete_export is
  'Completes an export with its file. False when it was cancelled or deleted, and when its user may not read all of the file any more: it has failed.';

create or replace function fail_export(job_id uuid, attempt integer, message text, again boolean) returns void as $$
begin
  perform from export_jobs j
  where j.id = fail_export.job_id and j.state = 'running' and j.attempt = fail_export.attempt for update;
  if not found then
    return;
  end if;
  update export_jobs j set failures = j.failures + 1 where j.id = fail_export.job_id;
  if not fail_export.again then
    perform end_export(fail_export.job_id, 'failed', fail_export.message);
    return;
  end if;
  update export_jobs j set state = 'queued', exported_rows = 0, error_message = fail_export.message where j.id = fail_export.job_id;
  perform schedule_file_deletion(array(select f.key from stored_files f where f.job_id = fail_export.job_id));
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function fail_export is 'Records a failed attempt and its reason, final or to be retried.';

create or replace function expire_export(job export_jobs) returns void as $$
begin
  update export_jobs j set state = 'expired', file_key = null where j.id = job.id;
  perform schedule_file_deletion(array[job.file_key]);
end;
$$ language plpgsql volatile;
comment on function expire_export is 'Deletes the file of a completed export.';

-- The lock waits for a worker that completes its export at this moment.
create or replace function end_list_exports() returns void as $$
declare
  v_job export_jobs;
begin
  for v_job in
    select * from export_jobs j
    where j.entity <> 'products' and j.state in ('queued', 'running', 'completed') order by j.id for update
  loop
    if v_job.state = 'completed' then
      perform expire_export(v_job);
      update export_jobs j set error_message = 'The file was deleted, because personal data was erased: request the export again'
      where j.id = v_job.id;
    else
      perform end_export(v_job.id, 'failed', 'Personal data was erased meanwhile: request the export again');
    end if;
  end loop;
end;
$$ language plpgsql volatile;
comment on function end_list_exports is 'Ends exports of lists, whose files may hold personal data that is being erased.';

-- Handles expired files, exports of lost workers and workbooks that no template uses.
create or replace function reconcile_exports() returns table (expired integer, given_up integer, unused_workbooks integer) as $$
declare
  v_job export_jobs;
begin
  reconcile_exports.expired := 0;
  reconcile_exports.given_up := 0;
  for v_job in
    select * from export_jobs j where j.state = 'completed' and j.expires_at <= now() for update skip locked
  loop
    perform expire_export(v_job);
    reconcile_exports.expired := reconcile_exports.expired + 1;
  end loop;
  for v_job in
    select * from export_jobs j
    where j.state in ('queued', 'running') and j.queue_job_id in (
      select * from office_jobs.lost(array(select o.queue_job_id from export_jobs o where o.state in ('queued', 'running')))
    ) for update skip locked
  loop
    perform end_export(v_job.id, 'failed',
      coalesce(v_job.error_message || '; ', '') || 'Its worker process ended repeatedly');
    reconcile_exports.given_up := reconcile_exports.given_up + 1;
  end loop;
  delete from export_workbooks w
  where w.created_at < now() - interval '1 day' and is_unused(w);
  get diagnostics reconcile_exports.unused_workbooks = row_count;
  return next;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function reconcile_exports is 'Handles expired files, lost exports and unused workbooks; returns their numbers.';

grant execute on function begin_export, record_export_progress, complete_export, fail_export, reconcile_exports to office_worker;
