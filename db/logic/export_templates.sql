-- Templates, defined by columns or by an uploaded workbook.

create or replace function export_templates_owner_name(template export_templates) returns text as $$
  select colleague_name(template.owner_user_id)
$$ language sql stable;
comment on function export_templates_owner_name is '@computed
@title Owner
@list 5
The name of the template''s owner: the user who created the template, or to whom it was handed over. Null for scoped tokens and without an owner.';
grant execute on function export_templates_owner_name to office_api;

-- The database knows the fields of products only. For other lists the server has checked the fields and passes their
-- titles as `defaultTitle`.
create or replace function set_template_columns(template export_templates, columns jsonb) returns void as $$
declare
  v_path text[] := array['input', 'columns'];
  v_count integer := jsonb_array_length(set_template_columns.columns);
  v_fields text[] := array(
    select c.value ->> 'field' from jsonb_array_elements(set_template_columns.columns) with ordinality as c(value, place)
    where template.entity = 'products' order by c.place
  );
  v_column record;
begin
  if v_count = 0 or v_count > 200 then
    perform fail('OF400', 'columns must be 1 to 200', jsonb_build_object('path', v_path));
  end if;
  delete from export_template_columns c where c.template_id = template.id;
  for v_column in
    select c.place::integer - 1 as place, c.value ->> 'field' as field, d.default_title, f.kind,
      coalesce(trim_to_null(c.value ->> 'title'), d.default_title) as title,
      (c.value ->> 'width')::numeric as width, trim_to_null(c.value ->> 'numberFormat') as number_format
    from jsonb_array_elements(set_template_columns.columns) with ordinality as c(value, place)
      left join find_export_fields(v_fields) as f on f.place = c.place,
      lateral (select coalesce(f.title, c.value ->> 'defaultTitle')) as d(default_title)
    order by c.place
  loop
    if v_column.default_title is null then
      perform refuse_unknown_field(v_column.field, to_jsonb(v_path) || jsonb_build_array(v_column.place, 'field'));
    elsif v_column.kind = 'IMAGE' and template.kind = 'TABLE' then
      perform fail('OF400', format('`%s` is a picture, which only a form can show; a table can show `%1$s.url`', v_column.field),
        jsonb_build_object('path', to_jsonb(v_path) || jsonb_build_array(v_column.place, 'field')));
    end if;
    -- Checks the table's constraints and names the invalid column.
    perform fail('OF400', f.name || ' ' || column_message('export_template_columns', f.attribute, 'is not allowed'),
      jsonb_build_object('path', to_jsonb(v_path) || jsonb_build_array(v_column.place, f.name)))
    from (values
      ('title', 'title', is_label(v_column.title, 200)), ('width', 'width', v_column.width between 1 and 255),
      ('number_format', 'numberFormat', is_label(v_column.number_format, 200))
    ) as f(attribute, name, holds)
    where not f.holds;
    insert into export_template_columns (template_id, position, field, title, width, number_format)
    values (template.id, v_column.place + 1, v_column.field, v_column.title, v_column.width, v_column.number_format);
  end loop;
end;
$$ language plpgsql volatile;

create or replace function assign_workbook(template export_templates, workbook_id uuid) returns void as $$
declare
  v_workbook export_workbooks;
begin
  select * into v_workbook from export_workbooks w where w.id = assign_workbook.workbook_id for key share;
  if not found then
    perform fail('OF400', 'workbookId: there is no uploaded workbook with this id; unused uploads are kept for a day',
      '{"path": ["input", "workbookId"]}');
  elsif v_workbook.entity <> template.entity then
    perform fail('OF400', format('workbookId: this workbook was uploaded for %s, and the template shows %s', v_workbook.entity, template.entity),
      '{"path": ["input", "workbookId"]}');
  elsif v_workbook.kind <> template.kind then
    perform fail('OF400', format('workbookId: this workbook was uploaded for a %s', v_workbook.kind),
      '{"path": ["input", "workbookId"]}');
  end if;
  update export_templates t set workbook_id = v_workbook.id where t.id = template.id;
  delete from export_template_columns c where c.template_id = template.id;
end;
$$ language plpgsql volatile;

create or replace function create_export_template(input jsonb) returns uuid as $$
declare
  v_input jsonb := jsonb_strip_nulls(create_export_template.input);
  v_template export_templates;
begin
  perform require_permission('exporttemplates.update');
  if (v_input ? 'columns') = (v_input ? 'workbookId') then
    perform fail('OF400', 'A template has either columns or a workbookId', '{"path": ["input"]}');
  end if;
  insert into export_templates (owner_user_id, name, description, entity, kind)
  values (current_user_id(), coalesce(trim_to_null(v_input ->> 'name'), ''), trim_to_null(v_input ->> 'description'), v_input ->> 'entity',
    (v_input ->> 'kind')::export_template_kind)
  returning * into v_template;
  if v_input ? 'columns' then
    perform set_template_columns(v_template, v_input -> 'columns');
  else
    perform assign_workbook(v_template, (v_input ->> 'workbookId')::uuid);
  end if;
  return v_template.id;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function create_export_template is 'Creates a template; returns its id.';

create or replace function update_export_template(id uuid, input jsonb) returns uuid as $$
declare
  v_given jsonb := update_export_template.input;
  v_template export_templates;
  v_former uuid;
begin
  perform require_permission('exporttemplates.update');
  select * into v_template from export_templates t where t.id = update_export_template.id for update;
  if not found then
    perform fail('OF404', 'There is no export template with this id', '{"path": ["id"]}');
  end if;
  if v_given -> 'name' = 'null' then
    perform fail('OF400', 'name cannot be null', '{"path": ["input", "name"]}');
  elsif coalesce(v_given -> 'columns', 'null') <> 'null' and coalesce(v_given -> 'workbookId', 'null') <> 'null' then
    perform fail('OF400', 'A template has either columns or a workbookId', '{"path": ["input"]}');
  end if;
  if v_given ?| array['name', 'description'] then
    update export_templates t set
      name = case when v_given ? 'name' then coalesce(trim_to_null(v_given ->> 'name'), '') else t.name end,
      description = case when v_given ? 'description' then trim_to_null(v_given ->> 'description') else t.description end
    where t.id = v_template.id;
  end if;
  v_former := v_template.workbook_id;
  if coalesce(v_given -> 'columns', 'null') <> 'null' then
    perform set_template_columns(v_template, v_given -> 'columns');
    update export_templates t set workbook_id = null where t.id = v_template.id and t.workbook_id is not null;
  elsif coalesce(v_given -> 'workbookId', 'null') <> 'null' then
    perform assign_workbook(v_template, (v_given ->> 'workbookId')::uuid);
  else
    return v_template.id;
  end if;
  delete from export_workbooks w where w.id = v_former and is_unused(w);
  return v_template.id;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function update_export_template is 'Changes a template; omitted fields stay unchanged. Returns its id.';

drop function if exists drop_unused_workbook(uuid);
-- A deleted template can be restored for seven days, see `restore`.
create or replace function is_unused(workbook export_workbooks) returns boolean as $$
  select not exists (select from export_templates t where t.workbook_id = workbook.id) and not exists (
    select from audit_log a
    where a.entity_type = 'ExportTemplate' and a.operation = 'DELETE' and a.created_at > now() - interval '7 days'
      and a.before ->> 'workbookId' = workbook.id::text
  )
$$ language sql stable;
comment on function is_unused is 'Whether no template uses the workbook, not even one that can be restored.';

create or replace function delete_export_template(id uuid) returns boolean as $$
begin
  perform require_permission('exporttemplates.update');
  delete from export_templates t where t.id = delete_export_template.id;
  if not found then
    perform fail('OF404', 'There is no export template with this id', '{"path": ["id"]}');
  end if;
  return true;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function delete_export_template is '@guard exporttemplates.update
Deletes a template. Completed exports stay; waiting exports that use the template fail.';

-- An upload: store the key, send the file, then mark the workbook as complete.
create or replace function begin_workbook(kind export_template_kind) returns table (id uuid, key text) as $$
declare
  v_id uuid := uuidv7();
  v_key text := format('%s/workbooks/%s.xlsx', current_schema(), v_id);
begin
  perform require_permission('exporttemplates.update');
  -- Scheduled for deletion until the upload is finished, so that a failed upload leaves no file.
  insert into stored_files (key, workbook_id, delete_after) values (v_key, v_id, now() + interval '1 hour');
  return query select v_id, v_key;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function begin_workbook is 'Returns the key for the upload of a workbook.';

create or replace function finish_workbook(
  id uuid, entity text, kind export_template_kind, file_name text, file_size integer, file_sha256 text, fields text[]
) returns void as $$
declare
  v_key text;
begin
  perform require_permission('exporttemplates.update');
  update stored_files f set delete_after = null
  where f.workbook_id = finish_workbook.id and f.removed_at is null and f.delete_after > now()
  returning f.key into v_key;
  if not found then
    perform fail('OF409', 'The upload took too long: send the workbook again');
  end if;
  insert into export_workbooks (id, entity, kind, file_name, file_size, file_sha256, file_key, fields, uploaded_by_user_id)
  values (finish_workbook.id, finish_workbook.entity, finish_workbook.kind, finish_workbook.file_name,
    finish_workbook.file_size, finish_workbook.file_sha256, v_key, finish_workbook.fields, current_user_id());
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function finish_workbook is 'Marks the upload of a workbook as complete.';

-- The names that placeholders for products can use; for prices see `export_price`.
create or replace function placeholder_fields(kind export_template_kind)
returns table (field text, kind_of_field export_field_kind) as $$
begin
  perform require_permission('exporttemplates.update');
  return query
    select f.field, f.kind from export_catalogue() as f
    where f.kind <> 'IMAGE' or placeholder_fields.kind = 'FORM';
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function placeholder_fields is 'The fields of products that a workbook of this kind can show, without prices.';

grant execute on function
  create_export_template, update_export_template, delete_export_template, begin_workbook, finish_workbook, placeholder_fields
to office_api;
