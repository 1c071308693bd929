-- Parent keys of the users' short-lived search keys, one for each set of collections. Only identifiers are stored; the
-- values are computed from the engine's administration key.
create or replace function search_parent_key(collections text[], mark text) returns table (generation integer, is_known boolean) as $$
  select g.generation, exists (
    select from search_keys k
    where k.mark = search_parent_key.mark and k.generation = g.generation and k.collections = search_parent_key.collections and k.retired_at is null
  )
  from (select coalesce(max(s.generation), 0) from search_generations s) as g(generation)
$$ language sql stable security definer set search_path from current;
comment on function search_parent_key is 'The current key generation, and whether the engine has the key of these collections.';

create or replace function record_search_key(mark text, generation integer, collections text[], engine_id bigint) returns void as $$
  insert into search_keys as k (mark, generation, collections, engine_id)
  values (record_search_key.mark, record_search_key.generation, record_search_key.collections, record_search_key.engine_id)
  on conflict on constraint search_keys_pkey do update set
    engine_id = excluded.engine_id,
    -- A server with the former administration key may still issue keys of that generation; a rotation is final.
    retired_at = case when excluded.generation = (select coalesce(max(s.generation), 0) from search_generations s) then null else k.retired_at end
$$ language sql volatile security definer set search_path from current;
comment on function record_search_key is 'Records that the engine has a key.';

create or replace function record_unknown_search_key(mark text, generation integer, collections text[], engine_id bigint) returns void as $$
  insert into search_keys (mark, generation, collections, engine_id, retired_at)
  values (
    record_unknown_search_key.mark, record_unknown_search_key.generation, record_unknown_search_key.collections, record_unknown_search_key.engine_id,
    clock_timestamp() + interval '16 minutes'
  )
  on conflict do nothing
$$ language sql volatile security definer set search_path from current;
comment on function record_unknown_search_key is 'Records an unknown key of the engine; it is removed when all keys derived from it have expired.';

create or replace function retire_search_keys_but(mark text) returns void as $$
  update search_keys k set retired_at = clock_timestamp() + interval '16 minutes'
  where k.mark <> retire_search_keys_but.mark and k.retired_at is null
$$ language sql volatile security definer set search_path from current;
comment on function retire_search_keys_but is
  'Retires keys computed from another administration key, once all keys derived from them have expired.';

create or replace function rotate_search_keys(at_once boolean) returns integer as $$
declare
  v_generation integer;
begin
  insert into search_generations (generation) select coalesce(max(s.generation), 0) + 1 from search_generations s
  returning generation into v_generation;
  -- Keys derived from these expire within a quarter of an hour.
  update search_keys k set retired_at = clock_timestamp() + case when at_once then interval '0' else interval '16 minutes' end
  where k.generation < v_generation;
  perform queue_search_indexing(true);
  return v_generation;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function rotate_search_keys is
  'Starts a new key generation; old keys end when all keys derived from them have expired, or at once.';

create or replace function known_search_keys() returns setof search_keys as $$
  select * from search_keys order by created_at
$$ language sql stable security definer set search_path from current;

create or replace function delete_search_key(engine_id bigint) returns void as $$
  delete from search_keys k where k.engine_id = delete_search_key.engine_id
$$ language sql volatile security definer set search_path from current;

grant execute on function search_parent_key, record_search_key to office_server, office_worker;
grant execute on function record_unknown_search_key, retire_search_keys_but, rotate_search_keys, known_search_keys, delete_search_key to office_worker;
