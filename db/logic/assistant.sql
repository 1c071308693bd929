-- Conversations with the assistant: readable only by their user, with `ai.use` and a full login.
create or replace function require_assistant() returns void as $$
begin
  perform require_full_login();
  perform require_permission('ai.use');
end;
$$ language plpgsql stable;
comment on function require_assistant is 'Fails unless the caller has `ai.use` and a full login.';

-- Reports another user's conversation as missing.
create or replace function own_ai_conversation(id text) returns ai_conversations as $$
declare
  v_conversation ai_conversations;
begin
  perform require_assistant();
  select * into v_conversation from ai_conversations c
  where c.id = own_ai_conversation.id and c.user_id = current_user_id() for update;
  if not found then
    perform fail('OF404', 'You have no conversation with this id', '{"path": ["id"]}');
  end if;
  return v_conversation;
end;
$$ language plpgsql volatile;

create or replace function ai_conversation_title(value text) returns text as $$
  select coalesce(
    nullif(btrim(left(regexp_replace(trim_to_null(ai_conversation_title.value), '[[:cntrl:][:space:]]+', ' ', 'g'), 80)), ''),
    'New conversation')
$$ language sql immutable;

create or replace function open_ai_conversation(id text, title text) returns ai_conversations as $$
declare
  v_title text := ai_conversation_title(open_ai_conversation.title);
begin
  perform require_assistant();
  if open_ai_conversation.id is null or open_ai_conversation.id !~ '^[A-Za-z0-9_-]{8,64}$' then
    perform fail('OF400', 'id must be 8 to 64 letters, digits, hyphens or underscores', '{"path": ["id"]}');
  end if;
  insert into ai_conversations (id, user_id, title)
  values (open_ai_conversation.id, current_user_id(), case when is_label(v_title, 200) then v_title else 'New conversation' end)
  on conflict on constraint ai_conversations_pkey do nothing;
  return own_ai_conversation(open_ai_conversation.id);
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function open_ai_conversation is 'Returns the caller''s conversation with this id, locked; creates it when there is none.';

create or replace function rename_ai_conversation(id text, title text) returns ai_conversations as $$
declare
  v_conversation ai_conversations := own_ai_conversation(rename_ai_conversation.id);
begin
  begin
    update ai_conversations c set title = coalesce(trim_to_null(rename_ai_conversation.title), '')
    where c.id = v_conversation.id
    returning * into v_conversation;
  exception when check_violation then
    perform fail('OF400', 'title ' || column_message('ai_conversations', 'title', 'is not allowed'), '{"path": ["title"]}');
  end;
  -- The title can contain personal content, so the audit log stores only that it changed.
  perform record_change('UPDATE', 'AiConversation', v_conversation.id, null, null, '{"changed": "title"}');
  return v_conversation;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function rename_ai_conversation is '@guard login ai.use
@argument title The new title.
Renames a conversation of the caller.';

create or replace function delete_ai_conversation(id text) returns boolean as $$
declare
  v_conversation ai_conversations := own_ai_conversation(delete_ai_conversation.id);
begin
  delete from ai_conversations c where c.id = v_conversation.id;
  return true;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function delete_ai_conversation is '@guard login ai.use
Deletes a conversation of the caller with its messages and attachments, and stops an answer in progress.';

create or replace function record_ai_tool_call(conversation_id text, tool text, is_write boolean, details jsonb) returns void as $$
begin
  perform require_assistant();
  perform record_change(
    case when record_ai_tool_call.is_write then 'UPDATE' else 'READ' end, 'AiToolCall', record_ai_tool_call.conversation_id, null, null,
    record_ai_tool_call.details || jsonb_build_object('tool', record_ai_tool_call.tool));
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function record_ai_tool_call is 'Records a tool call of the assistant for the caller in the audit log.';

-- Records a tool call that needed approval and did not run, on behalf of its user, also when a worker expires it.
create or replace function record_ai_approval_end(approval ai_approvals, why text) returns void as $$
  insert into audit_log (
    actor_user_id, operation, entity_type, entity_id, correlation_id, ip_address, user_agent, metadata
  )
  values (
    record_ai_approval_end.approval.user_id, 'UPDATE', 'AiToolCall', record_ai_approval_end.approval.conversation_id,
    nullif(current_setting('office.correlation_id', true), ''), nullif(current_setting('office.ip_address', true), ''),
    nullif(current_setting('office.user_agent', true), ''),
    audit_metadata() || jsonb_build_object(
      'tool', record_ai_approval_end.approval.tool, 'toolCallId', record_ai_approval_end.approval.tool_call_id,
      'approvalId', record_ai_approval_end.approval.id, 'outcome', lower(record_ai_approval_end.approval.state::text),
      'message', record_ai_approval_end.why)
  )
$$ language sql volatile;

-- A message with a known id replaces the first one and deletes everything after it, to ask the question again.
create or replace function append_ai_message(conversation_id text, user_id uuid, id text, role text, parts jsonb) returns void as $$
declare
  v_position integer;
begin
  select m.position into v_position from ai_messages m
  where m.conversation_id = append_ai_message.conversation_id and m.id = append_ai_message.id;
  if found then
    delete from ai_messages m where m.conversation_id = append_ai_message.conversation_id and m.position >= v_position;
  else
    select coalesce(max(m.position), 0) + 1 into v_position from ai_messages m
    where m.conversation_id = append_ai_message.conversation_id;
  end if;
  insert into ai_messages (conversation_id, id, user_id, position, role, parts)
  values (append_ai_message.conversation_id, append_ai_message.id, append_ai_message.user_id, v_position, append_ai_message.role,
    append_ai_message.parts);
  update ai_conversations c set updated_at = clock_timestamp() where c.id = append_ai_message.conversation_id;
end;
$$ language plpgsql volatile;

create or replace function add_ai_message(conversation_id text, id text, role text, parts jsonb) returns void as $$
begin
  perform own_ai_conversation(add_ai_message.conversation_id);
  perform append_ai_message(
    add_ai_message.conversation_id, current_user_id(), add_ai_message.id, add_ai_message.role, add_ai_message.parts);
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function add_ai_message is 'Adds a message to a conversation of the caller; a known id replaces that message and removes all later ones.';

create or replace function remove_ai_messages_after(conversation_id text, id text) returns boolean as $$
begin
  perform own_ai_conversation(remove_ai_messages_after.conversation_id);
  delete from ai_messages m
  where m.conversation_id = remove_ai_messages_after.conversation_id and m.position > (
    select k.position from ai_messages k
    where k.conversation_id = remove_ai_messages_after.conversation_id and k.id = remove_ai_messages_after.id
  );
  return exists (
    select from ai_messages k
    where k.conversation_id = remove_ai_messages_after.conversation_id and k.id = remove_ai_messages_after.id);
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function remove_ai_messages_after is 'Removes all messages after the given one; false when there is no such message.';

create or replace function set_ai_message_parts(conversation_id text, id text, parts jsonb) returns void as $$
begin
  perform own_ai_conversation(set_ai_message_parts.conversation_id);
  update ai_messages m set parts = set_ai_message_parts.parts
  where m.conversation_id = set_ai_message_parts.conversation_id and m.id = set_ai_message_parts.id;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function set_ai_message_parts is 'Replaces the parts of a message.';

grant execute on function
  rename_ai_conversation, delete_ai_conversation, open_ai_conversation, record_ai_tool_call, add_ai_message,
  remove_ai_messages_after, set_ai_message_parts
to office_api;
