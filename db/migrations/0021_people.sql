-- When people last logged in, which outlives their sessions; what a leaver hands over; who bought a product.
create table user_logins (
  user_id uuid primary key references users on delete cascade,
  last_login_at timestamptz not null
);
comment on table user_logins is '@read users.read
@root off
@audit off because sessions are recorded
When each person last logged in.';
comment on column user_logins.user_id is 'The person.';
comment on column user_logins.last_login_at is 'When they last logged in.';
comment on constraint user_logins_user_id_fkey on user_logins is '@behavior -*';
insert into user_logins (user_id, last_login_at) select s.user_id, max(s.created_at) from sessions s group by 1;

comment on constraint order_lines_product_id_fkey on order_lines is '@foreignConnectionFieldName orderLines
@behavior +singularRelation:resource:single +manyRelation:resource:connection';

create type handed_over as (campaigns integer, bookings integer, watches integer);
comment on type handed_over is 'What one person has handed over to another.';
comment on column handed_over.campaigns is '@notNull
Campaigns that were not over.';
comment on column handed_over.bookings is '@notNull
Bookings that were not over.';
comment on column handed_over.watches is '@notNull
Search watches.';
