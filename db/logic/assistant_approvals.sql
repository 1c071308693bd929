-- Changes proposed by the assistant. Only the stored call runs, and only after its user approves it.
create or replace function ai_approvals_status(approval ai_approvals) returns ai_approval_status as $$
  select case
    when ai_approvals_status.approval.state = 'PENDING' and ai_approvals_status.approval.expires_at <= now() then 'EXPIRED'
    else ai_approvals_status.approval.state
  end
$$ language sql stable;
comment on function ai_approvals_status is '@computed
@notNull
The state of the approval.';

create or replace function propose_ai_change(
  conversation_id text, tool_call_id text, tool text, summary text, operation text, variables jsonb, minutes integer
) returns ai_approvals as $$
declare
  v_approval ai_approvals;
begin
  perform own_ai_conversation(propose_ai_change.conversation_id);
  insert into ai_approvals (conversation_id, user_id, tool_call_id, tool, summary, operation, variables, expires_at)
  values (propose_ai_change.conversation_id, current_user_id(), propose_ai_change.tool_call_id, propose_ai_change.tool,
    -- A user may have written a token to the assistant.
    without_tokens(propose_ai_change.summary), propose_ai_change.operation, without_tokens(propose_ai_change.variables::text)::jsonb,
    now() + make_interval(mins => propose_ai_change.minutes))
  returning * into v_approval;
  return v_approval;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function propose_ai_change is 'Stores a change that needs the caller''s approval.';

-- Only the first of several concurrent decisions counts.
create or replace function answer_ai_approval(conversation_id text, id uuid, approved boolean) returns ai_approvals as $$
declare
  v_approval ai_approvals;
  -- A worker may have recorded the expiry before this call.
  v_was_settled boolean;
begin
  perform require_assistant();
  select * into v_approval from ai_approvals a
  where a.id = answer_ai_approval.id and a.conversation_id = answer_ai_approval.conversation_id
    and a.user_id = current_user_id()
  for update;
  if not found then
    perform fail('OF404', 'There is no proposed change with this id', jsonb_build_object('approvalId', answer_ai_approval.id));
  elsif v_approval.state <> 'PENDING' and not (v_approval.state = 'EXPIRED' and v_approval.answered_at is null) then
    perform fail('OF409', format('The change was answered already: it is %s', v_approval.state),
      jsonb_build_object('approvalId', v_approval.id, 'status', v_approval.state));
  end if;
  v_was_settled := v_approval.state = 'EXPIRED';
  update ai_approvals a set
    state = case when not answer_ai_approval.approved then 'DENIED' when a.expires_at <= now() then 'EXPIRED' else 'APPROVED' end
      ::ai_approval_status,
    answered_at = now()
  where a.id = v_approval.id
  returning * into v_approval;
  if v_approval.state = 'DENIED' or v_approval.state = 'EXPIRED' and not v_was_settled then
    perform record_ai_approval_end(v_approval,
      case v_approval.state when 'DENIED' then 'Its user denied it.' else 'It was approved too late.' end);
  end if;
  return v_approval;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function answer_ai_approval is 'Approves or denies a proposed change, once; an expired one stays unapproved.';

create or replace function expire_conversation_ai_approvals(conversation_id text) returns setof uuid as $$
declare
  v_approval ai_approvals;
begin
  perform own_ai_conversation(expire_conversation_ai_approvals.conversation_id);
  -- Approved calls that did not start expire as well.
  for v_approval in
    update ai_approvals a set state = 'EXPIRED', answered_at = coalesce(a.answered_at, now())
    where a.conversation_id = expire_conversation_ai_approvals.conversation_id and a.state in ('PENDING', 'APPROVED')
    returning a.*
  loop
    perform record_ai_approval_end(v_approval, 'The conversation went on without it.');
    return next v_approval.id;
  end loop;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function expire_conversation_ai_approvals is 'Expires the open proposals of a conversation when it continues without them; returns their ids.';

create or replace function use_ai_approval(conversation_id text, tool_call_id text) returns setof ai_approvals as $$
begin
  perform require_assistant();
  return query
    update ai_approvals a set state = 'USED', used_at = now()
    where a.conversation_id = use_ai_approval.conversation_id and a.tool_call_id = use_ai_approval.tool_call_id
      and a.user_id = current_user_id() and a.state = 'APPROVED' and a.expires_at > now()
    returning a.*;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function use_ai_approval is 'Uses the approval of a change once; no row when there is no valid approval.';

grant execute on function
  ai_approvals_status, propose_ai_change, answer_ai_approval, expire_conversation_ai_approvals, use_ai_approval
to office_api;

create or replace function expire_ai_approvals() returns integer as $$
declare
  v_approval ai_approvals;
  v_count integer := 0;
begin
  for v_approval in
    update ai_approvals a set state = 'EXPIRED' where a.state = 'PENDING' and a.expires_at <= now()
    returning a.*
  loop
    perform record_ai_approval_end(v_approval, 'Nobody answered in time.');
    v_count := v_count + 1;
  end loop;
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function expire_ai_approvals is 'Records expired proposals as such; returns their number. Readers see them as expired before that.';
grant execute on function expire_ai_approvals to office_worker;
