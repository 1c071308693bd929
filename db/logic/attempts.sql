-- Login attempts, counted across all server processes and outside the login's own transaction, so that failed attempts
-- count as well.

-- An IPv6 client controls a whole /64 network.
create or replace function attempt_address(address text) returns text as $$
  select case
    when pg_input_is_valid(bare, 'inet') and family(bare::inet) = 6 then network(set_masklen(bare::inet, 64))::text
    else bare
  end
  from split_part(attempt_address.address, '%', 1) as b(bare)
$$ language sql immutable;

create or replace function count_attempt(step text, address text, account text, per_minute integer) returns integer as $$
declare
  v_wait integer;
begin
  with counted as (
    insert into attempt_counts as c (step, subject_kind, subject_hash, started_at, attempts)
    select count_attempt.step, s.kind, sha256(convert_to(s.subject, 'UTF8')), now(), 1
    from (values
      (1, 'address', attempt_address(count_attempt.address)), (2, 'account', name_key(count_attempt.account))
    ) as s(place, kind, subject)
    where s.subject is not null
    -- A fixed lock order prevents deadlocks.
    order by s.place
    on conflict on constraint attempt_counts_pkey do update set
      -- A clock that is set back must not block logins for long.
      started_at = case when c.started_at between now() - interval '1 minute' and now() + interval '1 minute'
        then c.started_at else now() end,
      attempts = case when c.started_at between now() - interval '1 minute' and now() + interval '1 minute'
        then least(c.attempts, 1000000) + 1 else 1 end
    returning c.started_at, c.attempts
  )
  select max(ceil(extract(epoch from c.started_at + interval '1 minute' - now()))) into v_wait
  from counted c where c.attempts > count_attempt.per_minute;

  -- Runs after counting, when this transaction waits for no more locks, so concurrent clean-ups cannot deadlock.
  delete from attempt_counts c where c.ctid = any (array(
    select old.ctid from attempt_counts old where old.started_at < now() - interval '2 minutes' limit 20 for update skip locked
  ));
  return greatest(v_wait, case when v_wait is null then 0 else 1 end);
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function count_attempt is
  'Counts a login attempt for its address and its account (an e-mail address, a provider''s subject, or the user of a code); either can be null. Returns the seconds to wait when a limit is reached, else 0.';

-- Invalid codes cannot exhaust a user's attempts, and a code that is rejected by the limit is not used up.
create or replace function login_code_account(code_hash bytea) returns text as $$
  select c.user_id::text from login_codes c where c.code_hash = login_code_account.code_hash
$$ language sql stable security definer set search_path from current;
comment on function login_code_account is 'The user for whom attempts with a login code count; null for an unknown code.';

-- Called by the server before it reads the request; not callable through GraphQL.
grant execute on function count_attempt, login_code_account to office_server;
