-- Retries with the same `Idempotency-Key` return the stored response. The key, the effect and the response are stored
-- in one transaction.
create or replace function idempotency_principal() returns text as $$
  select coalesce(
    'token:' || nullif(current_setting('office.token_id', true), ''),
    'user:' || nullif(current_setting('office.user_id', true), '')
  )
$$ language sql stable;

create or replace function claim_idempotency_key(key_hash bytea, request_hash bytea) returns json as $$
declare
  v_principal text := idempotency_principal();
  v_known idempotency_keys;
begin
  if v_principal is null then
    perform fail('OF401', 'You are not logged in');
  end if;
  -- Held until the end of the transaction. Concurrent requests retry instead of waiting with a connection.
  if not pg_try_advisory_xact_lock(hashtextextended(
    concat_ws(' ', current_schema(), 'idempotency', v_principal, encode(claim_idempotency_key.key_hash, 'hex')), 0
  )) then
    return '{"state": "busy"}';
  end if;
  -- A separate statement, which sees what the previous lock holder committed.
  select * into v_known from idempotency_keys k
  where k.principal = v_principal and k.key_hash = claim_idempotency_key.key_hash and k.created_at > now() - interval '24 hours';
  if not found then
    return '{"state": "new"}';
  end if;
  if v_known.request_hash <> claim_idempotency_key.request_hash then
    perform fail('OF409', 'This Idempotency-Key was used for another request: use a new key for each new request',
      '{"code": "IDEMPOTENCY_CONFLICT", "header": "Idempotency-Key"}');
  elsif not v_known.permissions <@ current_permissions() then
    perform fail('OF403', 'This request was completed before; its response is not shown again, because you hold fewer permissions now');
  elsif v_known.answer is null then
    perform fail('OF409', 'This request was completed before; its response contained a secret that is shown only once. Look for the created object, or send a new Idempotency-Key to create another one',
      '{"header": "Idempotency-Key"}');
  end if;
  return json_build_object('state', 'done', 'answer', v_known.answer);
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function claim_idempotency_key is '@behavior -*
The state of a key: `new` (held by this transaction), `busy` (held by another), or `done` with the stored response. Fails for a different request, and when the response may not be shown.';

create or replace function keep_idempotent_answer(key_hash bytea, request_hash bytea, answer json) returns void as $$
begin
  if idempotency_principal() is null then
    perform fail('OF401', 'You are not logged in');
  end if;
  insert into idempotency_keys as k (principal, key_hash, request_hash, permissions, answer)
  values (
    idempotency_principal(), keep_idempotent_answer.key_hash, keep_idempotent_answer.request_hash, current_permissions(),
    keep_idempotent_answer.answer
  )
  -- Only an expired row that is not removed yet can conflict.
  on conflict on constraint idempotency_keys_pkey do update set
    request_hash = excluded.request_hash, permissions = excluded.permissions, answer = excluded.answer, created_at = excluded.created_at;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function keep_idempotent_answer is '@behavior -*
Stores the response under the caller''s key in the same transaction; null when it contains a secret.';

grant execute on function claim_idempotency_key, keep_idempotent_answer to office_api;

create or replace function remove_old_idempotency_keys() returns integer as $$
declare
  v_removed integer;
begin
  delete from idempotency_keys where created_at <= now() - interval '24 hours';
  get diagnostics v_removed = row_count;
  return v_removed;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function remove_old_idempotency_keys is 'Removes keys older than a day; returns their number.';
grant execute on function remove_old_idempotency_keys to office_worker;
