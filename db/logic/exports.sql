-- Exports, from their user's side.

create or replace function export_jobs_status(job export_jobs) returns text as $$
  select case when job.state = 'completed' and job.expires_at <= now() then 'expired' else job.state end
$$ language sql stable;
comment on function export_jobs_status is '@computed
@list 2
@notNull
One of `queued`, `running`, `completed`, `failed`, `cancelled`, `expired`.';
grant execute on function export_jobs_status to office_api;

create or replace function export_jobs_download_path(job export_jobs) returns text as $$
  select format('/exports/%s/download', job.id) where export_jobs_status(job) = 'completed'
$$ language sql stable;
comment on function export_jobs_download_path is '@computed
@title File
@widget file
@list off
The download path of the file, relative to the address of the service; null without a file.';
grant execute on function export_jobs_download_path to office_api;

-- A workbook cannot be written as text, because it has no table of columns.
create or replace function format_problem(template export_templates, format text) returns text as $$
  select case
    when upper(format_problem.format) = 'XLSX' then null
    when format_problem.template.kind = 'FORM' then format('a FORM can be exported as XLSX only, not %s', upper(format_problem.format))
    when format_problem.template.workbook_id is not null
      then format('a template that is an uploaded workbook can be exported as XLSX only, not %s', upper(format_problem.format))
    -- Its lines are objects with the fields as keys.
    when upper(format_problem.format) = 'JSONL' then (
      select format('the template shows %s twice, which JSONL cannot', f)
      from unnest(template_fields(format_problem.template)) as f group by f having count(*) > 1 order by f limit 1
    )
  end
$$ language sql stable;
comment on function format_problem is 'The reason why a template cannot be exported in a format; null when it can.';

create or replace function require_template(id uuid, entity text, format text) returns export_templates as $$
declare
  v_template export_templates;
  v_path jsonb := '{"path": ["input", "templateId"]}';
  v_problem text;
begin
  select * into v_template from export_templates t where t.id = require_template.id for key share;
  if not found then
    perform fail('OF400', format('templateId: there is no export template %s', require_template.id), v_path);
  elsif v_template.entity <> require_template.entity then
    perform fail('OF400', format('templateId: this template shows %s; use createListExport with the entity %1$s', v_template.entity), v_path);
  end if;
  v_problem := format_problem(v_template, require_template.format);
  if v_problem is not null then
    perform fail('OF400', 'format: ' || v_problem, '{"path": ["input", "format"]}');
  end if;
  return v_template;
end;
$$ language plpgsql volatile;
comment on function require_template is
  'The template of a new export, locked; fails when it shows another list or cannot be exported in the format.';

create or replace function list_export_template(id uuid, entity text, format text)
returns table (name text, kind export_template_kind, fields text[]) as $$
begin
  perform require_permission('exports.create');
  return query
    select t.name, t.kind, template_fields(t)
    from require_template(list_export_template.id, list_export_template.entity, list_export_template.format) as t;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function list_export_template is 'The template of a new export of a list, with the fields that the server has to read.';

create or replace function create_data_export_from_template(input data_export_input) returns export_jobs as $$
declare
  v_input data_export_input := create_data_export_from_template.input;
  v_limit integer;
  v_template export_templates;
  v_ids uuid[] := v_input.product_ids;
  v_count integer;
  v_all_known boolean;
  v_unknown uuid[];
  v_job export_jobs;
  v_field text := case when v_input.query is null then 'productIds' else 'query' end;
  v_path jsonb := jsonb_build_object('path', array['input', v_field]);
begin
  perform require_all_permissions('exports.create', 'products.read');
  v_limit := current_setting('office.export_max_products')::integer;
  v_template := require_template(v_input.template_id, 'products', coalesce(v_input.format, 'XLSX'));
  -- The common case: all ids are distinct and known, so nothing must be reordered.
  v_all_known := cardinality(v_ids) = (select count(*) from products p where p.id = any(v_ids));
  if v_all_known is not true then
    v_ids := array(
      select d.id from unnest(v_ids) with ordinality as d(id, place) group by d.id order by min(d.place)
    );
  end if;
  v_count := cardinality(v_ids);
  if v_count = 0 then
    perform fail('OF400', case v_field when 'query' then 'query: no product matches' else 'productIds must name at least one product' end, v_path);
  elsif v_template.kind = 'FORM' and v_count <> 1 then
    perform fail('OF400', format('%s: a form takes exactly one product, not %s', v_field, v_count), v_path);
  elsif v_count > v_limit then
    perform fail('OF400', format('%s: %s products are more than the %s that one export may have', v_field, v_count, v_limit), v_path);
  end if;
  if v_all_known is not true then
    v_unknown := array(
      select d.id from unnest(v_ids) with ordinality as d(id, place)
      where not exists (select from products p where p.id = d.id) order by d.place
    );
  end if;
  if cardinality(v_unknown) > 0 then
    perform fail('OF400', 'productIds: there are no products ' || array_to_string(v_unknown[:10], ', ')
      || case when cardinality(v_unknown) > 10 then format(' and %s more', cardinality(v_unknown) - 10) else '' end, v_path);
  end if;

  insert into export_jobs (user_id, token_id, template_id, source, format, query, total_rows)
  values (current_user_id(), current_token_id(), v_template.id, v_template.name, lower(coalesce(v_input.format, 'XLSX')), v_input.query, v_count)
  returning * into v_job;
  insert into export_job_products (job_id, product_ids) values (v_job.id, v_ids);
  perform queue_export_start();
  return v_job;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function create_data_export_from_template is 'Creates an export of the given products and queues its start.';

-- The server compiles the statement, which runs as the user of the export: it can read no more than they can. Reads of audited
-- tables are recorded here, because the file is for the caller.
create or replace function start_list_export(job jsonb, list jsonb) returns uuid as $$
declare
  v_job export_jobs := jsonb_populate_record(null::export_jobs, start_list_export.job);
begin
  perform require_permission('exports.create');
  insert into export_jobs (user_id, token_id, template_id, source, entity, format, query, total_rows)
  values (current_user_id(), current_token_id(), v_job.template_id, v_job.source, v_job.entity, v_job.format, v_job.query, v_job.total_rows)
  returning * into v_job;
  insert into export_job_lists (job_id, table_name, tables, is_by_template, statement, statement_values, columns)
  select v_job.id, l.table_name, l.tables, v_job.template_id is not null, l.statement, l.statement_values, l.columns
  from jsonb_populate_record(null::export_job_lists, start_list_export.list) as l;
  perform record_reads(
    array_agg(r.entity_type), array_agg(null::text),
    array_agg(jsonb_build_object('field', 'createListExport', 'arguments', jsonb_build_object('entity', v_job.entity, 'query', v_job.query),
      'rows', v_job.total_rows))
  )
  from (
    select distinct case t.name when 'audit_log' then 'AuditLog' else substring(g.tags ->> 'audit' from '^(\w+)') end as entity_type
    from jsonb_array_elements_text(start_list_export.list -> 'tables') as t(name), lateral table_tags(t.name::regclass) as g(tags)
    where g.tags ? 'auditReads' or t.name = 'audit_log'
  ) as r
  having count(*) > 0;
  perform queue_export_start();
  return v_job.id;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function start_list_export is '@behavior -*
Creates an export of a list and queues its start.';

-- Returns the caller's own export, locked; exports of others are reported as missing.
create or replace function own_export(id uuid) returns export_jobs as $$
declare
  v_job export_jobs;
begin
  select * into v_job from export_jobs j
  where j.id = own_export.id and j.user_id = current_user_id() and (current_token_id() is null or j.token_id = current_token_id())
  for update;
  if not found then
    perform fail('OF404', 'There is no export with this id', '{"path": ["id"]}');
  end if;
  return v_job;
end;
$$ language plpgsql volatile;

-- An export that a worker holds keeps its slot until the worker stops.
create or replace function dequeue_export(job export_jobs) returns void as $$
begin
  if dequeue_export.job.state in ('queued', 'running') and office_jobs.cancel(dequeue_export.job.queue_job_id) then
    perform queue_export_start();
  end if;
end;
$$ language plpgsql volatile;
comment on function dequeue_export is 'Removes an export''s job from the queue, unless a worker holds it.';

create or replace function cancel_export_job(id uuid) returns export_jobs as $$
declare
  v_job export_jobs;
begin
  perform require_permission('exports.create');
  v_job := own_export(cancel_export_job.id);
  if v_job.state = 'cancelled' then
    return v_job;
  elsif v_job.state not in ('queued', 'running') then
    perform fail('OF409', format('The export is %s: only a waiting or running one can be cancelled', export_jobs_status(v_job)));
  end if;
  perform end_export(v_job.id, 'cancelled', null);
  perform dequeue_export(v_job);
  select * into v_job from export_jobs j where j.id = v_job.id;
  return v_job;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function cancel_export_job is '@guard exports.create
@action bad unless finished_at
Cancels a waiting or running export of the caller.';

create or replace function delete_export_job(id uuid) returns boolean as $$
declare
  v_job export_jobs;
begin
  perform require_permission('exports.create');
  v_job := own_export(delete_export_job.id);
  delete from export_jobs j where j.id = delete_export_job.id;
  perform dequeue_export(v_job);
  return true;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function delete_export_job is '@guard exports.create
Deletes an export of the caller with its file; stops a running export.';

grant execute on function
  create_data_export_from_template, list_export_template, start_list_export, cancel_export_job, delete_export_job
to office_api;
