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
