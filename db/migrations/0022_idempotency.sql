-- What mutations were answered, for those who send them again.
create table idempotency_keys (
  principal text not null,
  key_hash bytea not null,
  request_hash bytea not null,
  permissions text[] not null,
  answer json,
  created_at timestamptz not null default now(),
  primary key (principal, key_hash)
);
create index idempotency_keys_created_at_idx on idempotency_keys (created_at);
comment on table idempotency_keys is '@internal
@audit off because it repeats for a day what the audit log has
A mutation that took effect under an `Idempotency-Key`, with its answer.';
comment on column idempotency_keys.principal is 'Whose key it is: `user:` or `token:` and the id.';
comment on column idempotency_keys.key_hash is 'SHA-256 of the key: whoever sends a secret there has it stored nowhere.';
comment on column idempotency_keys.request_hash is 'SHA-256 of the document, the operation''s name and the variables.';
comment on column idempotency_keys.permissions is 'What the caller held; whoever holds less by now is not shown the answer again.';
comment on column idempotency_keys.answer is 'The answer, as it was sent; null where it held a secret.';
