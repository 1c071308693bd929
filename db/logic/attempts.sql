-- Attempts to log in, counted for all server processes together and apart from the login's own transaction, so that those
-- that fail count as well.

-- Whoever has one IPv6 address has the whole of its /64.
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
    -- Everyone locks in this order.
    order by s.place
    on conflict on constraint attempt_counts_pkey do update set
      -- A clock that was set back must not keep anyone out for long.
      started_at = case when c.started_at between now() - interval '1 minute' and now() + interval '1 minute'
        then c.started_at else now() end,
      attempts = case when c.started_at between now() - interval '1 minute' and now() + interval '1 minute'
        then least(c.attempts, 1000000) + 1 else 1 end
    returning c.started_at, c.attempts
  )
  select max(ceil(extract(epoch from c.started_at + interval '1 minute' - now()))) into v_wait
  from counted c where c.attempts > count_attempt.per_minute;

  -- After the counting, when nothing is waited for any more: two that sweep cannot stop each other.
  delete from attempt_counts c where c.ctid = any (array(
    select old.ctid from attempt_counts old where old.started_at < now() - interval '2 minutes' limit 20 for update skip locked
  ));
  return greatest(v_wait, case when v_wait is null then 0 else 1 end);
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function count_attempt is
  'Counts an attempt at a step of logging in, for the address that it comes from and for the account that it is at (an e-mail address, what a provider knows the person by, or the user behind a code); either is null where it is not known. Returns how many seconds to wait when either has had its attempts of the minute, else 0.';

-- Whoever has no code of a user's cannot use up that user's attempts; a code that is refused for too many is not used up.
create or replace function login_code_account(code_hash bytea) returns text as $$
  select c.user_id::text from login_codes c where c.code_hash = login_code_account.code_hash
$$ language sql stable security definer set search_path from current;
comment on function login_code_account is 'For whom attempts with a login code count; null for a code that is unknown.';

-- The server's own steps, before it looks at what was sent; a GraphQL request cannot reach them.
grant execute on function count_attempt, login_code_account to office_server;
