-- Notes about customers.
create or replace function tg_customer_notes__author() returns trigger as $$
begin
  if not is_restoring() then
    new.author_user_id := current_user_id();
  end if;
  return new;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_customer_notes__author is 'Sets the author of a note.';
select ensure_trigger('customer_notes', '_200_author',
  'before insert on %TABLE% for each row execute function tg_customer_notes__author()');

create or replace function customer_notes_author_name(note customer_notes) returns text as $$
  select colleague_name(note.author_user_id)
$$ language sql stable;
comment on function customer_notes_author_name is '@computed
@list 3
@title Author
The name of the author, also for callers without `users.read`; null for scoped tokens, and if the user was deleted.';
grant execute on function customer_notes_author_name to office_api;
