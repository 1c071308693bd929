-- What the other tables can tell disappears with time: sessions are removed, identities unlinked.
alter table users add column invitations_closed_at timestamptz;
comment on column users.invitations_closed_at is '@internal
When the user was first activated, or deactivated before that; no invitation activates the user from then on.';

update users u set invitations_closed_at = now()
where u.is_active
  or exists (select from invitations i where i.user_id = u.id and i.state = 'accepted')
  or exists (select from sessions s where s.user_id = u.id)
  or exists (select from user_identities l where l.user_id = u.id)
  or exists (
    select from audit_log a
    where a.entity_type = 'User' and a.entity_id = u.id::text and a.operation = 'UPDATE' and a.after ? 'isActive'
  );
