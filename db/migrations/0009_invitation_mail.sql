-- What became of an invitation's mail, and when an invitation was revoked.
alter table invitations
  add column revoked_at timestamptz,
  add column mailed_at timestamptz,
  add column mail_error text,
  add column mail_attempts integer not null default 0,
  add column mail_number integer not null default 1;
comment on table invitations is '@read invitations.read
@audit Invitation except mail_attempts
@auditReads
@defaultOrder created_at desc
An invitation of a person to join the staff with a role.';
comment on column invitations.revoked_at is 'When the invitation was taken back; null for one that was not.';
comment on column invitations.mailed_at is 'When the mail server took the latest mail of this invitation; null while it is on its way or has failed.';
comment on column invitations.mail_error is 'Why the latest mail has not been sent, in words for people; null when nothing is wrong.';
comment on column invitations.mail_attempts is '@internal
How often the latest mail was tried.';
comment on column invitations.mail_number is '@internal
Which mail of this invitation is the latest: 1, and one more for each time that it was resent.';
