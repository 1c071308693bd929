-- The ledger of files: a key is stored before the upload and removed after the deletion.

create or replace function schedule_file_deletion(keys text[]) returns void as $$
begin
  update stored_files f set delete_after = now() where f.key = any (schedule_file_deletion.keys) and f.delete_after is null;
  if found then
    perform enqueue_job('remove_files', '{}', 'files to delete');
  end if;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function schedule_file_deletion is 'Marks files for deletion from the object store and queues the job.';

-- Uploads are scheduled for deletion at a later time until they finish. Each file is deleted twice, a quarter of an
-- hour apart, because a paused worker may still write it.
create or replace function files_to_delete() returns setof text as $$
  select f.key from stored_files f
  where f.delete_after <= now() and (f.removed_at is null or f.removed_at < now() - interval '15 minutes')
  order by f.delete_after limit 500
$$ language sql stable security definer set search_path from current;
comment on function files_to_delete is 'A batch of files to delete now.';

create or replace function record_file_removed(key text) returns void as $$
begin
  -- Two tasks at once may have read the same batch: the later one is not the second deletion.
  delete from stored_files f
  where f.key = record_file_removed.key and f.removed_at < now() - interval '15 minutes';
  update stored_files f set removed_at = now() where f.key = record_file_removed.key and f.removed_at is null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function record_file_removed is 'Records a deletion; removes the file from the ledger after the second one.';

create or replace function postpone_file_deletion(key text) returns void as $$
  update stored_files f set delete_after = now() where f.key = postpone_file_deletion.key
$$ language sql volatile security definer set search_path from current;
comment on function postpone_file_deletion is 'Puts a file that cannot be deleted behind the others that are due.';

create or replace function unknown_files(keys text[]) returns setof text as $$
  select k from unnest(unknown_files.keys) as k
  where not exists (select from stored_files f where f.key = k)
    -- A worker may have run on since before the restore, whose rows are not there yet.
    and obj_description(current_schema()::regnamespace, 'pg_namespace') is distinct from 'restoring a backup'
$$ language sql stable security definer set search_path from current;
comment on function unknown_files is 'The keys that are not in the ledger; none while a backup is restored.';

create or replace function tg_export_jobs__schedule_file_deletion() returns trigger as $$
begin
  perform schedule_file_deletion(array(select f.key from stored_files f where f.job_id = old.id));
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_export_jobs__schedule_file_deletion is 'Schedules the deletion of an export''s files with its row.';
select ensure_trigger('export_jobs', '_500_schedule_file_deletion',
  'after delete on %TABLE% for each row execute function tg_export_jobs__schedule_file_deletion()');

create or replace function tg_export_workbooks__schedule_file_deletion() returns trigger as $$
begin
  perform schedule_file_deletion(array[old.file_key]);
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_export_workbooks__schedule_file_deletion is 'Schedules the deletion of a workbook''s file with its row.';
select ensure_trigger('export_workbooks', '_500_schedule_file_deletion',
  'after delete on %TABLE% for each row execute function tg_export_workbooks__schedule_file_deletion()');

grant execute on function files_to_delete, record_file_removed, postpone_file_deletion, unknown_files to office_worker;
