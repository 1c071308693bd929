-- Answers in progress, stored chunk by chunk. Any server can show or stop one, and finish it when its own server is
-- lost.

-- An answer without a heartbeat for this long counts as lost.
create or replace function ai_answer_is_lost(answer ai_answers) returns boolean as $$
  select ai_answer_is_lost.answer.state = 'running' and ai_answer_is_lost.answer.alive_at < now() - interval '10 seconds'
$$ language sql stable;

create or replace function begin_ai_answer(conversation_id text, message_id text) returns uuid as $$
declare
  v_id uuid;
begin
  perform own_ai_conversation(begin_ai_answer.conversation_id);
  if exists (
    select from ai_answers a where a.conversation_id = begin_ai_answer.conversation_id and a.state = 'running'
  ) then
    perform fail('OF409', 'The conversation is being answered: wait for the answer, or stop it');
  end if;
  insert into ai_answers (conversation_id, user_id, message_id)
  values (begin_ai_answer.conversation_id, current_user_id(), begin_ai_answer.message_id)
  returning id into v_id;
  insert into ai_usage (user_id, day, answers) values (current_user_id(), (now() at time zone 'UTC')::date, 1)
  on conflict on constraint ai_usage_pkey do update set answers = ai_usage.answers + 1;
  return v_id;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function begin_ai_answer is 'Starts an answer in a conversation of the caller; only one can be in progress.';

create or replace function write_ai_chunks(answer_id uuid, number integer, chunks jsonb) returns boolean as $$
declare
  v_stop boolean;
begin
  perform require_assistant();
  update ai_answers a set alive_at = clock_timestamp()
  where a.id = write_ai_chunks.answer_id and a.user_id = current_user_id() and a.state = 'running'
  returning a.stop_requested_at is not null into v_stop;
  -- The answer may have been deleted with its conversation.
  if not found then
    return true;
  end if;
  if jsonb_array_length(write_ai_chunks.chunks) > 0 then
    insert into ai_answer_chunks (answer_id, number, chunks)
    values (write_ai_chunks.answer_id, write_ai_chunks.number, write_ai_chunks.chunks);
  end if;
  return v_stop;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function write_ai_chunks is 'Stores chunks of an answer and its heartbeat; returns whether the answer should stop.';

-- Reserves the cost of a question before it is sent, so that concurrent answers cannot spend the same budget. Returns
-- null when less than `least_cost` is left.
create or replace function reserve_ai_cost(answer_id uuid, least_cost numeric, wanted numeric, daily numeric) returns numeric as $$
declare
  v_today date := (now() at time zone 'UTC')::date;
  v_granted numeric;
begin
  perform require_assistant();
  -- Locks the answer before the usage row, as everywhere; answers of one user wait for each other.
  perform from ai_answers a where a.id = reserve_ai_cost.answer_id for update;
  insert into ai_usage (user_id, day) values (current_user_id(), v_today)
  on conflict on constraint ai_usage_pkey do update set cost = ai_usage.cost;
  v_granted := least(reserve_ai_cost.wanted, reserve_ai_cost.daily
    - (select u.cost from ai_usage u where u.user_id = current_user_id() and u.day = v_today)
    - (select coalesce(sum(a.reserved), 0) from ai_answers a
       where a.user_id = current_user_id() and a.state = 'running' and a.id <> reserve_ai_cost.answer_id));
  if v_granted < reserve_ai_cost.least_cost then
    v_granted := null;
  end if;
  update ai_answers a set reserved = coalesce(v_granted, 0)
  where a.id = reserve_ai_cost.answer_id and a.user_id = current_user_id();
  return v_granted;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function reserve_ai_cost is 'Reserves the wanted cost, or the rest of the caller''s daily budget; null when less than the minimum is left.';

create or replace function record_ai_usage(answer_id uuid, input_tokens bigint, output_tokens bigint, cost numeric) returns numeric as $$
declare
  v_cost numeric;
begin
  perform require_assistant();
  update ai_answers a set
    input_tokens = a.input_tokens + record_ai_usage.input_tokens,
    output_tokens = a.output_tokens + record_ai_usage.output_tokens, cost = a.cost + record_ai_usage.cost, reserved = 0
  where a.id = record_ai_usage.answer_id and a.user_id = current_user_id();
  insert into ai_usage (user_id, day, input_tokens, output_tokens, cost)
  values (current_user_id(), (now() at time zone 'UTC')::date, record_ai_usage.input_tokens, record_ai_usage.output_tokens,
    record_ai_usage.cost)
  on conflict on constraint ai_usage_pkey do update set
    input_tokens = ai_usage.input_tokens + excluded.input_tokens,
    output_tokens = ai_usage.output_tokens + excluded.output_tokens, cost = ai_usage.cost + excluded.cost
  returning ai_usage.cost into v_cost;
  return v_cost;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function record_ai_usage is 'Adds the usage of a model call; returns the caller''s spending of today.';

create or replace function ai_usage_today() returns jsonb as $$
begin
  perform require_assistant();
  return coalesce((
    select jsonb_build_object(
      'answers', u.answers, 'inputTokens', u.input_tokens, 'outputTokens', u.output_tokens, 'cost', u.cost::float8)
    from ai_usage u where u.user_id = current_user_id() and u.day = (now() at time zone 'UTC')::date
  ), '{"answers": 0, "inputTokens": 0, "outputTokens": 0, "cost": 0}');
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function ai_usage_today is 'The caller''s usage of today (UTC).';

-- Locks the conversation before its answer, as everywhere.
create or replace function lock_ai_conversation_of(answer_id uuid) returns void as $$
  select from ai_conversations c
  where c.id = (select a.conversation_id from ai_answers a where a.id = lock_ai_conversation_of.answer_id)
  for update
$$ language sql volatile;

-- Only the first call ends an answer.
create or replace function end_ai_answer(answer_id uuid, state text, parts jsonb) returns boolean as $$
declare
  v_answer ai_answers;
begin
  perform lock_ai_conversation_of(end_ai_answer.answer_id);
  update ai_answers a set state = end_ai_answer.state, finished_at = clock_timestamp(), reserved = 0
  where a.id = end_ai_answer.answer_id and a.state = 'running'
  returning * into v_answer;
  if not found then
    return false;
  end if;
  update ai_messages m set parts = end_ai_answer.parts
  where m.conversation_id = v_answer.conversation_id and m.id = v_answer.message_id;
  if not found and jsonb_array_length(end_ai_answer.parts) > 0 then
    perform append_ai_message(v_answer.conversation_id, v_answer.user_id, v_answer.message_id, 'assistant', end_ai_answer.parts);
  end if;
  update ai_conversations c set updated_at = clock_timestamp() where c.id = v_answer.conversation_id;
  return true;
end;
$$ language plpgsql volatile;
comment on function end_ai_answer is 'Ends an answer and stores its parts; false when it had ended before.';

create or replace function finish_ai_answer(answer_id uuid, state text, parts jsonb) returns boolean as $$
begin
  perform require_assistant();
  return exists (
      select from ai_answers a where a.id = finish_ai_answer.answer_id and a.user_id = current_user_id()
    ) and end_ai_answer(finish_ai_answer.answer_id, finish_ai_answer.state, finish_ai_answer.parts);
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function finish_ai_answer is 'Ends an answer of the caller and stores its parts; false when it had ended before.';

create or replace function stop_ai_answer(conversation_id text) returns uuid as $$
declare
  v_id uuid;
begin
  perform own_ai_conversation(stop_ai_answer.conversation_id);
  update ai_answers a set stop_requested_at = coalesce(a.stop_requested_at, clock_timestamp())
  where a.conversation_id = stop_ai_answer.conversation_id and a.state = 'running'
  returning a.id into v_id;
  return v_id;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function stop_ai_answer is 'Requests the server of an answer to stop it; null when no answer is in progress.';

create or replace function running_ai_answer(conversation_id text)
returns table (id uuid, message_id text, is_lost boolean) as $$
begin
  perform require_assistant();
  return query
    select a.id, a.message_id, ai_answer_is_lost(a) from ai_answers a
    where a.conversation_id = running_ai_answer.conversation_id and a.user_id = current_user_id() and a.state = 'running';
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function running_ai_answer is 'The answer in progress of a conversation of the caller, and whether its server is lost.';

create or replace function ai_chunks_after(answer_id uuid, after integer)
returns table (number integer, chunks jsonb, is_over boolean, is_lost boolean) as $$
begin
  perform require_assistant();
  return query
    select c.number, c.chunks, a.state <> 'running', ai_answer_is_lost(a)
    from ai_answers a
      left join ai_answer_chunks c on c.answer_id = a.id and c.number > ai_chunks_after.after
    where a.id = ai_chunks_after.answer_id and a.user_id = current_user_id()
    order by c.number;
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function ai_chunks_after is 'The chunks of an answer after a number, with the answer''s state; no row when the answer is gone.';

grant execute on function
  begin_ai_answer, write_ai_chunks, reserve_ai_cost, record_ai_usage, ai_usage_today, finish_ai_answer, stop_ai_answer, running_ai_answer,
  ai_chunks_after
to office_api;

-- Used by workers, which end lost answers even when no client asks for them.
create or replace function lost_ai_answers() returns table (id uuid, message_id text, base jsonb, chunks jsonb) as $$
  select a.id, a.message_id,
    (select m.parts from ai_messages m where m.conversation_id = a.conversation_id and m.id = a.message_id),
    (select coalesce(jsonb_agg(e.chunk order by c.number, e.place), '[]')
     from ai_answer_chunks c, jsonb_array_elements(c.chunks) with ordinality as e(chunk, place) where c.answer_id = a.id)
  from ai_answers a
  where a.state = 'running' and ai_answer_is_lost(a)
  order by a.alive_at
  limit 20
$$ language sql stable security definer set search_path from current;
comment on function lost_ai_answers is 'The oldest 20 answers without a recent heartbeat, with their chunks.';

-- Charges the full reservation, because the actual cost of a lost question is unknown.
create or replace function charge_lost_ai_answer(answer_id uuid) returns void as $$
  insert into ai_usage (user_id, day, cost)
  select a.user_id, (a.alive_at at time zone 'UTC')::date, a.reserved from ai_answers a
  where a.id = charge_lost_ai_answer.answer_id and a.state = 'running' and a.reserved > 0
  on conflict on constraint ai_usage_pkey do update set cost = ai_usage.cost + excluded.cost
$$ language sql volatile;

create or replace function end_lost_ai_answer(answer_id uuid, parts jsonb) returns boolean as $$
begin
  perform lock_ai_conversation_of(end_lost_ai_answer.answer_id);
  -- The server may have resumed, or another caller may have ended the answer.
  perform from ai_answers a where a.id = end_lost_ai_answer.answer_id and ai_answer_is_lost(a) for update;
  if not found then
    return false;
  end if;
  perform charge_lost_ai_answer(end_lost_ai_answer.answer_id);
  return end_ai_answer(end_lost_ai_answer.answer_id, 'interrupted', end_lost_ai_answer.parts);
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function end_lost_ai_answer is 'Ends a lost answer with its stored chunks; false when it is not lost or had ended before.';
grant execute on function lost_ai_answers, end_lost_ai_answer to office_worker;

create or replace function end_own_lost_ai_answer(answer_id uuid, parts jsonb) returns boolean as $$
begin
  perform require_assistant();
  return exists (
      select from ai_answers a where a.id = end_own_lost_ai_answer.answer_id and a.user_id = current_user_id()
    ) and end_lost_ai_answer(end_own_lost_ai_answer.answer_id, end_own_lost_ai_answer.parts);
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function end_own_lost_ai_answer is 'Ends a lost answer of the caller.';
grant execute on function end_own_lost_ai_answer to office_api;

-- Chunks serve clients that reconnect while an answer runs or shortly after.
create or replace function remove_old_ai_answers() returns integer as $$
declare
  v_count integer;
begin
  delete from ai_answers a where a.finished_at < now() - interval '1 hour';
  get diagnostics v_count = row_count;
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function remove_old_ai_answers is 'Removes answers that ended more than an hour ago; their messages stay. Returns the number removed.';
grant execute on function remove_old_ai_answers to office_worker;
