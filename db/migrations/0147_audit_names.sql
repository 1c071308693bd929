-- The audit log calls these by the name that the API has for what they hold.
comment on column invitations.state is '@internal
@auditName status
The settled state; `status` also heeds the time.';
comment on column export_jobs.state is '@internal
@auditName status
How far it is, but for the passing of time.';
