-- Files given to the assistant. As for all files, the key is stored before the upload starts.
create or replace function check_ai_storage(bytes bigint, stored_bytes bigint) returns void as $$
declare
  v_held bigint := (select coalesce(sum(a.file_size), 0) from ai_attachments a where a.user_id = current_user_id());
begin
  if v_held + check_ai_storage.bytes > check_ai_storage.stored_bytes then
    perform fail('OF409', format(
      'Your files for the assistant take %s bytes, and with this one would take more than the %s that they may: delete conversations or files',
      v_held, check_ai_storage.stored_bytes));
  end if;
end;
$$ language plpgsql stable;
comment on function check_ai_storage is 'Fails when another file would exceed the caller''s storage limit.';

-- Returns no row when the caller has reached the daily number of files. A limit of null means no limit.
create or replace function begin_ai_attachment(bytes bigint default 0, per_day integer default null, stored_bytes bigint default null)
returns table (id uuid, key text) as $$
declare
  v_id uuid := uuidv7();
  v_key text := format('%s/assistant/%s/%s', current_schema(), current_user_id(), v_id);
  v_count integer;
begin
  perform require_assistant();
  insert into ai_usage (user_id, day, attachments) values (current_user_id(), (now() at time zone 'UTC')::date, 1)
  on conflict on constraint ai_usage_pkey do update set attachments = ai_usage.attachments + 1
  where begin_ai_attachment.per_day is null or ai_usage.attachments < begin_ai_attachment.per_day
  returning attachments into v_count;
  if v_count is null then
    return;
  end if;
  perform check_ai_storage(begin_ai_attachment.bytes, begin_ai_attachment.stored_bytes);
  -- Scheduled for deletion until the upload is finished, so that a failed upload leaves no file.
  insert into stored_files (key, attachment_id, delete_after) values (v_key, v_id, now() + interval '1 hour');
  return query select v_id, v_key;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function begin_ai_attachment is 'Returns the key for an upload; no row when the caller has reached the daily limit.';

create or replace function finish_ai_attachment(
  id uuid, file_name text, media_type text, file_size integer, file_sha256 text, stored_bytes bigint default null
) returns ai_attachments as $$
declare
  v_key text;
  v_attachment ai_attachments;
begin
  perform require_assistant();
  -- Checks the limit again under a lock, because several uploads may finish at the same time.
  perform from ai_usage u where u.user_id = current_user_id() order by u.day desc limit 1 for update;
  perform check_ai_storage(finish_ai_attachment.file_size, finish_ai_attachment.stored_bytes);
  update stored_files f set delete_after = null
  where f.attachment_id = finish_ai_attachment.id and f.removed_at is null and f.delete_after > now()
    and starts_with(f.key, format('%s/assistant/%s/', current_schema(), current_user_id()))
  returning f.key into v_key;
  if not found then
    perform fail('OF409', 'The upload took too long: send the file again');
  end if;
  insert into ai_attachments (id, user_id, file_name, media_type, file_size, file_sha256, file_key)
  values (finish_ai_attachment.id, current_user_id(), finish_ai_attachment.file_name, finish_ai_attachment.media_type,
    finish_ai_attachment.file_size, finish_ai_attachment.file_sha256, v_key)
  returning * into v_attachment;
  return v_attachment;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function finish_ai_attachment is 'Marks an upload as complete.';

create or replace function claim_ai_attachments(conversation_id text, ids uuid[]) returns setof ai_attachments as $$
declare
  v_id uuid;
begin
  perform own_ai_conversation(claim_ai_attachments.conversation_id);
  foreach v_id in array claim_ai_attachments.ids loop
    update ai_attachments a set conversation_id = claim_ai_attachments.conversation_id
    where a.id = v_id and a.user_id = current_user_id()
      and (a.conversation_id is null or a.conversation_id = claim_ai_attachments.conversation_id);
    if not found then
      perform fail('OF400', 'There is no attachment of yours with the id ' || v_id || ' that is in no other conversation',
        '{"path": ["messages"]}');
    end if;
  end loop;
  return query select a.* from ai_attachments a where a.id = any (claim_ai_attachments.ids);
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function claim_ai_attachments is 'Adds files of the caller to a conversation, which deletes them with it.';

create or replace function delete_ai_attachment(id uuid) returns void as $$
begin
  perform require_assistant();
  delete from ai_attachments a where a.id = delete_ai_attachment.id and a.user_id = current_user_id();
  if not found then
    perform fail('OF404', 'You have no attachment with this id');
  end if;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function delete_ai_attachment is 'Deletes a file of the caller.';

create or replace function tg_ai_attachments__schedule_file_deletion() returns trigger as $$
begin
  perform schedule_file_deletion(array[old.file_key]);
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_ai_attachments__schedule_file_deletion is 'Schedules the deletion of an attachment''s file with its row.';
select ensure_trigger('ai_attachments', '_500_schedule_file_deletion',
  'after delete on %TABLE% for each row execute function tg_ai_attachments__schedule_file_deletion()');

create or replace function remove_unused_ai_attachments() returns integer as $$
declare
  v_count integer;
begin
  delete from ai_attachments a where a.conversation_id is null and a.created_at < now() - interval '1 day';
  get diagnostics v_count = row_count;
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function remove_unused_ai_attachments is 'Deletes uploads that were not sent within a day; returns their number.';
grant execute on function remove_unused_ai_attachments to office_worker;

grant execute on function begin_ai_attachment, finish_ai_attachment, claim_ai_attachments, delete_ai_attachment to office_api;
