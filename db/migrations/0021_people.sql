-- Last logins, which outlive sessions; the result of a handover; order lines of products.
create table user_logins (
  user_id uuid primary key references users on delete cascade,
  last_login_at timestamptz not null
);
comment on table user_logins is '@read users.read
@root off
@audit off because sessions are recorded
The last login of each user.';
comment on column user_logins.user_id is 'The user.';
comment on column user_logins.last_login_at is 'The time of the last login.';
comment on constraint user_logins_user_id_fkey on user_logins is '@behavior -*';
insert into user_logins (user_id, last_login_at) select s.user_id, max(s.created_at) from sessions s group by 1;

comment on constraint order_lines_product_id_fkey on order_lines is '@foreignConnectionFieldName orderLines
@behavior +singularRelation:resource:single +manyRelation:resource:connection';

create type handed_over as (campaigns integer, bookings integer, watches integer);
comment on type handed_over is 'The numbers of rows that a handover transferred.';
comment on column handed_over.campaigns is '@notNull
Campaigns.';
comment on column handed_over.bookings is '@notNull
Bookings.';
comment on column handed_over.watches is '@notNull
Search watches.';
