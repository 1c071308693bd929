-- The picture of a user is shown by browsers as those of products are: it must not lead inside either. One that does would keep
-- its user from being changed at all, even from being deactivated, and goes.
update users set avatar_url = null
where not (
  avatar_url ~* '^https://([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?\.?(:\d{1,5})?([/?#]|$)'
  and avatar_url !~* '^https://([^/?#:]*\.)?(localhost|localdomain|local|internal|intranet|private|corp|home|lan|arpa)\.?([:/?#]|$)'
);
alter table users add constraint users_avatar_url_public_check check (
  -- What is no https address at all is the other constraint's to refuse, in one message.
  avatar_url !~ '^https://'
  or avatar_url ~* '^https://([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?\.?(:\d{1,5})?([/?#]|$)'
  and avatar_url !~* '^https://([^/?#:]*\.)?(localhost|localdomain|local|internal|intranet|private|corp|home|lan|arpa)\.?([:/?#]|$)'
) not valid;
-- lint: allow validate-later because the users of a back office are few, and the migrations that are new share one transaction
alter table users validate constraint users_avatar_url_public_check;
comment on constraint users_avatar_url_public_check on users is 'must name a public host: no IP address, no internal name';

-- Pictures of products that were stored before theirs must be public stay as they are, since nobody but staff can say what is to
-- take their place; without any, the constraint is as good as any other.
-- lint: allow do-block because only a block can go on without what it cannot validate
do $$
begin
  alter table product_images validate constraint product_images_url_public_check;
exception when check_violation then
  raise warning 'product_images has addresses that are not public; they stay until staff replace them, see `select id, product_id, url`. Once none is left: `alter table product_images validate constraint product_images_url_public_check`';
end;
$$;
