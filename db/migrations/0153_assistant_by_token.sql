-- The assistant takes an API token without scopes as it takes a session of the token's owner.
comment on table ai_conversations is '@read ai.use
@login
@owner user_id
@audit AiConversation id except title
@connection
@defaultOrder updated_at desc
A conversation with the assistant. It shows to the user only who holds it.';
comment on table ai_messages is '@read ai.use
@login
@owner user_id
@root off
@audit off because what people say to the assistant is theirs; the conversation, each use of a tool and each change are recorded
@defaultOrder position
A message of a conversation with the assistant.';
comment on table ai_approvals is '@read ai.use
@login
@owner user_id
@audit AiApproval
@connection
@defaultOrder created_at desc
A change that the assistant proposes. It is made once its user approves it, exactly as it stands here, once, and not after it has expired.';
comment on table ai_attachments is '@read ai.use
@login
@owner user_id
@root off
@audit AiAttachment id except file_name
@defaultOrder created_at
A file that its user gave to the assistant.';
