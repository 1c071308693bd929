-- What an answer may still cost is held for it while the model is asked; files given to the assistant are counted for each day.
alter table ai_answers add column reserved numeric(14, 6) not null default 0;
alter table ai_usage add column attachments integer not null default 0;

-- They have further parameters, each with a default.
drop function if exists begin_ai_attachment();
drop function if exists finish_ai_attachment(uuid, text, text, integer, text);

comment on column ai_approvals.answered_at is 'When it was approved or denied, or the conversation went on without it.';
