-- Exports, as whoever asks for them sees them.

create or replace function export_jobs_status(job export_jobs) returns text as $$
  select case when job.state = 'completed' and job.expires_at <= now() then 'expired' else job.state end
$$ language sql stable;
comment on function export_jobs_status is '@computed
@notNull
One of `queued`, `running`, `completed`, `failed`, `cancelled`, `expired`.';
grant execute on function export_jobs_status to office_api;

create or replace function create_data_export_from_template(input data_export_input) returns export_jobs as $$
declare
  v_limit integer;
  v_template export_templates;
  v_ids uuid[];
  v_all_known boolean;
  v_unknown uuid[];
  v_job export_jobs;
  v_path jsonb := '{"path": ["input", "productIds"]}';
begin
  perform require_permission('exports.create', 'products.read');
  v_limit := current_setting('office.export_max_products')::integer;
  select * into v_template from export_templates t where t.id = create_data_export_from_template.input.template_id for key share;
  if not found then
    perform fail('OF400', format('templateId: there is no export template %s', create_data_export_from_template.input.template_id),
      '{"path": ["input", "templateId"]}');
  end if;
  v_ids := create_data_export_from_template.input.product_ids;
  -- Each id once and known, as nearly always: nothing is to be put in order then.
  v_all_known := cardinality(v_ids) = (select count(*) from products p where p.id = any(v_ids));
  if v_all_known is not true then
    v_ids := array(
      select d.id from unnest(v_ids) with ordinality as d(id, place) group by d.id order by min(d.place)
    );
  end if;
  if cardinality(v_ids) = 0 then
    perform fail('OF400', 'productIds must name at least one product', v_path);
  elsif v_template.kind = 'FORM' and cardinality(v_ids) <> 1 then
    perform fail('OF400', format('productIds: a form takes exactly one product, not %s', cardinality(v_ids)), v_path);
  elsif cardinality(v_ids) > v_limit then
    perform fail('OF400', format('productIds: %s products are more than the %s that one export may have', cardinality(v_ids), v_limit), v_path);
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

  insert into export_jobs (user_id, token_id, template_id, source, total_rows)
  values (current_user_id(), current_token_id(), v_template.id, v_template.name, cardinality(v_ids))
  returning * into v_job;
  insert into export_job_products (job_id, product_ids) values (v_job.id, v_ids);
  -- There are so many lanes as exports may run at a time, so that they never take up a whole worker. Those of one user share a lane
  -- and run one after the other: whoever asks for many does not keep everyone waiting.
  update export_jobs j set queue_job_id = enqueue_job('run_export', jsonb_build_object('jobId', v_job.id), v_job.id::text,
    queue => 'exports:' || abs(hashtextextended(v_job.user_id::text, 0) % coalesce(nullif(current_setting('office.exports_at_once', true), '')::integer, 3)))
  where j.id = v_job.id
  returning * into v_job;
  return v_job;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function create_data_export_from_template is '@guard exports.create products.read
@inputType CreateDataExportFromTemplateInput
Starts an export of products to an XLSX workbook. Ask `exportJob` until its status is `completed`, then `GET /exports/<id>/download` for the file''s address.';

-- One''s own export, locked; of others'' nothing is told.
create or replace function own_export(id uuid) returns export_jobs as $$
declare
  v_job export_jobs;
begin
  select * into v_job from export_jobs j
  where j.id = own_export.id and j.user_id = current_user_id() and j.token_id is not distinct from current_token_id()
  for update;
  if not found then
    perform fail('OF404', 'There is no export with this id', '{"path": ["id"]}');
  end if;
  return v_job;
end;
$$ language plpgsql volatile;

create or replace function cancel_export_job(id uuid) returns export_jobs as $$
declare
  v_job export_jobs;
begin
  perform require_permission('exports.create');
  v_job := own_export(cancel_export_job.id);
  if v_job.state = 'cancelled' then
    return v_job;
  elsif v_job.state not in ('queued', 'running') then
    perform fail('OF409', format('The export is %s: only one that waits or runs can be cancelled', export_jobs_status(v_job)));
  end if;
  perform end_export(v_job.id, 'cancelled', null);
  select * into v_job from export_jobs j where j.id = v_job.id;
  return v_job;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function cancel_export_job is '@guard exports.create
Cancels an export of one''s own that waits or runs.';

create or replace function delete_export_job(id uuid) returns boolean as $$
begin
  perform require_permission('exports.create');
  perform own_export(delete_export_job.id);
  delete from export_jobs j where j.id = delete_export_job.id;
  return true;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function delete_export_job is '@guard exports.create
Deletes an export of one''s own with its file; one that runs is stopped.';

grant execute on function create_data_export_from_template, cancel_export_job, delete_export_job to office_api;
