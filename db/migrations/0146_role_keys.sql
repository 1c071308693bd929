-- Which permissions a role holds is asked with every request: the answer stands in a row of its own, kept by triggers.
-- lint: allow lock-table because whoever gives or takes permissions meanwhile must wait, to be seen by the new triggers
lock table role_permissions in share row exclusive mode;

create table held_keys (
  role_id uuid primary key references roles on delete cascade,
  permission_keys text[] not null
);
comment on table held_keys is '@internal
@audit off because it says again what role_permissions says
The keys of the permissions that a role holds, in one row: what every request asks for. A role without permissions may have none.';

insert into held_keys (role_id, permission_keys)
select rp.role_id, array_agg(p.key order by p.key)
from role_permissions rp join permissions p on p.id = rp.permission_id
group by rp.role_id;
