-- The assistant: conversations with their messages, answers in progress, proposed changes, attachments and usage. Chat
-- clients choose the ids of conversations and messages.
create table ai_conversations (
  id text collate "C" primary key,
  user_id uuid not null references users on delete cascade,
  title text collate display_order not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint ai_conversations_id_check check (id ~ '^[A-Za-z0-9_-]{8,64}$'),
  constraint ai_conversations_title_check check (is_label(title, 200))
);
create index ai_conversations_user_id_idx on ai_conversations (user_id, updated_at desc, id desc);
create index ai_conversations_updated_at_idx on ai_conversations (updated_at desc, id desc);
comment on table ai_conversations is '@group Assistant 70
@icon chat
@title Conversations
@titleOne Conversation
@read ai.use
@login
@owner user_id
@audit AiConversation id except title
@connection
@defaultOrder updated_at desc
A conversation with the assistant. Only its user can read it.';
comment on column ai_conversations.title is
  'The title of the conversation. Until it is renamed, the beginning of the first message.';
comment on constraint ai_conversations_id_check on ai_conversations is
  'must be 8 to 64 letters, digits, hyphens or underscores';
comment on constraint ai_conversations_title_check on ai_conversations is
  'must be 1 to 200 visible characters without spaces at its ends';

create table ai_messages (
  conversation_id text collate "C" not null references ai_conversations on delete cascade,
  id text collate "C" not null,
  user_id uuid not null references users on delete cascade,
  position integer not null,
  role text not null,
  parts jsonb not null,
  created_at timestamptz not null default now(),
  primary key (conversation_id, id),
  constraint ai_messages_position_key unique (conversation_id, position),
  constraint ai_messages_role_check check (role in ('user', 'assistant'))
);
create index ai_messages_user_id_idx on ai_messages (user_id);
comment on table ai_messages is '@read ai.use
@login
@owner user_id
@root off
@audit off because messages are private; the conversation, each use of a tool and each change are recorded
@defaultOrder position
A message of a conversation with the assistant.';
comment on column ai_messages.position is 'The position of the message in the conversation, from 1.';
comment on column ai_messages.role is 'The author of the message: `user` or `assistant`.';
comment on column ai_messages.parts is
  'The parts of the message, in the format of the AI SDK''s UI messages: texts, files, tool calls with their results, notes.';
comment on constraint ai_messages_role_check on ai_messages is 'must be user or assistant';
comment on constraint ai_messages_conversation_id_fkey on ai_messages is '@backwardBehavior +manyRelation:resource:connection
@foreignConnectionFieldName messages';

create table ai_answers (
  id uuid primary key default uuidv7(),
  conversation_id text collate "C" not null references ai_conversations on delete cascade,
  user_id uuid not null references users on delete cascade,
  message_id text not null,
  state text not null default 'running',
  stop_requested_at timestamptz,
  alive_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cost numeric(14, 6) not null default 0,
  reserved numeric(14, 6) not null default 0,
  constraint ai_answers_state_check check (state in ('running', 'done', 'stopped', 'failed', 'interrupted'))
);
create unique index ai_answers_running_key on ai_answers (conversation_id) where state = 'running';
create index ai_answers_conversation_id_idx on ai_answers (conversation_id, created_at);
create index ai_answers_user_id_idx on ai_answers (user_id);
create index ai_answers_finished_at_idx on ai_answers (finished_at);
comment on table ai_answers is '@internal
@audit off because it is the state of streaming
An answer of the assistant, while it is streamed and for some time after.';
comment on index ai_answers_running_key is 'The conversation is being answered already.';

create table ai_answer_chunks (
  answer_id uuid not null references ai_answers on delete cascade,
  number integer not null,
  chunks jsonb not null,
  primary key (answer_id, number)
);
comment on table ai_answer_chunks is '@internal
@audit off because it is the state of streaming
The stream parts of an answer, for clients that reconnect and for the loss of the server.';

create type ai_approval_status as enum ('PENDING', 'APPROVED', 'DENIED', 'USED', 'EXPIRED');
comment on type ai_approval_status is
  'The status of a proposed change. APPROVED: the change is about to be made; USED: the change was made, or failed.';

create table ai_approvals (
  id uuid primary key default uuidv7(),
  conversation_id text collate "C" not null references ai_conversations on delete cascade,
  user_id uuid not null references users on delete cascade,
  tool_call_id text not null,
  tool text not null,
  summary text not null,
  operation text not null,
  variables jsonb not null,
  state ai_approval_status not null default 'PENDING',
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  answered_at timestamptz,
  used_at timestamptz,
  constraint ai_approvals_tool_call_key unique (conversation_id, tool_call_id)
);
create index ai_approvals_user_id_idx on ai_approvals (user_id, created_at desc, id desc);
create index ai_approvals_created_at_idx on ai_approvals (created_at desc, id desc);
comment on table ai_approvals is '@group Assistant 71
@icon check
@title Approvals
@titleOne Approval
@label summary
@read ai.use
@login
@owner user_id
@audit AiApproval
@connection
@defaultOrder created_at desc
A change that the assistant proposes. After its user approves it, the service makes exactly this change, once, and not after the proposal has expired.';
comment on column ai_approvals.tool_call_id is 'The id of the tool call in the conversation.';
comment on column ai_approvals.tool is '@list 2
The tool that proposes the change.';
comment on column ai_approvals.summary is '@list 1
A summary of the change in one sentence.';
comment on column ai_approvals.operation is 'The GraphQL operation to execute.';
comment on column ai_approvals.variables is 'The variables of the operation.';
comment on column ai_approvals.state is '@internal
The stored state; `status` also considers the time.';
comment on column ai_approvals.expires_at is '@list 4
When the proposal expires and can no longer be approved.';
comment on column ai_approvals.answered_at is '@list 5
When the change was approved or denied, or the conversation continued without it.';
comment on column ai_approvals.used_at is 'When the change was made.';
comment on column ai_approvals.created_at is '@list 3';
comment on index ai_approvals_tool_call_key is 'The change was proposed already.';
comment on constraint ai_approvals_conversation_id_fkey on ai_approvals is '@backwardBehavior +manyRelation:resource:list
@foreignFieldName approvals';

create table ai_attachments (
  id uuid primary key default uuidv7(),
  user_id uuid not null references users on delete cascade,
  conversation_id text collate "C" references ai_conversations on delete cascade,
  file_name text not null,
  media_type text not null,
  file_size integer not null,
  file_sha256 text not null,
  file_key text not null,
  created_at timestamptz not null default now(),
  constraint ai_attachments_file_name_check check (is_label(file_name, 200))
);
create index ai_attachments_user_id_idx on ai_attachments (user_id);
create index ai_attachments_conversation_id_idx on ai_attachments (conversation_id);
create index ai_attachments_unused_idx on ai_attachments (created_at) where conversation_id is null;
comment on table ai_attachments is '@read ai.use
@login
@owner user_id
@root off
@audit AiAttachment id except file_name
@defaultOrder created_at
A file that a user uploaded for the assistant.';
comment on column ai_attachments.file_name is 'The name of the file.';
comment on column ai_attachments.media_type is 'The media type, detected from the content of the file.';
comment on column ai_attachments.file_size is 'The size of the file in bytes.';
comment on column ai_attachments.file_sha256 is 'The SHA-256 of the file, in hexadecimal.';
comment on column ai_attachments.file_key is '@internal
Where the file is in the object store.';
comment on constraint ai_attachments_file_name_check on ai_attachments is
  'must be 1 to 200 visible characters without spaces at its ends';
comment on constraint ai_attachments_conversation_id_fkey on ai_attachments is '@backwardBehavior +manyRelation:resource:list
@foreignFieldName attachments';

create table ai_usage (
  user_id uuid not null references users on delete cascade,
  day date not null,
  answers integer not null default 0,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cost numeric(14, 6) not null default 0,
  attachments integer not null default 0,
  primary key (user_id, day)
);
comment on table ai_usage is '@internal
@audit off because it is a counter
A user''s usage of the assistant on one day (UTC).';
