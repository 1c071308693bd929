-- Search engine settings for the front end. The server adds the search keys.
create or replace function may_search(keys text[]) returns boolean as $$
  select bool_and(case k when 'login' then is_login() else has_permission(k) end) from unnest(may_search.keys) as k
$$ language sql stable;
comment on function may_search is
  'Whether the caller holds all of the permissions; `login` is a session or an unscoped API token. False for none.';

create or replace function searchable_collections() returns setof jsonb as $$
  select s.definition || jsonb_build_object(
    'enabled', exists (select from search_indexes i where i.collection = s.collection and i.version is not null))
  from search_catalogue s
  where may_search(s.keys) and s.keys <> '{login}'
  order by s.title, s.collection
$$ language sql stable;
comment on function searchable_collections is 'The collections that the caller''s permissions open; not those for every login.';

create or replace function search_config_of(type text) returns jsonb as $$
declare
  v_keys text[];
begin
  if current_user_id() is null then
    perform fail('OF401', 'You are not logged in');
  end if;
  select s.keys into v_keys from search_catalogue s where s.collection = search_config_of.type;
  if not found then
    perform fail('OF400', coalesce(
      'type must be one of ' || (select string_agg(s.collection, ', ' order by s.collection) from search_catalogue s where may_search(s.keys)),
      'type: there is nothing of this name to be searched'), '{"path": ["type"]}');
  end if;
  if v_keys = '{login}' then
    perform require_full_login();
  else
    perform require_all_permissions(variadic v_keys);
  end if;
  return (select s.definition from search_catalogue s where s.collection = search_config_of.type);
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function search_config_of is 'The definition of a collection that the caller may search.';

create or replace function global_search_of() returns setof jsonb as $$
begin
  perform require_full_login();
  -- A key has one filter for all its collections, so collections with owner filters need their own key.
  return query select c from searchable_collections() as c where jsonb_typeof(c -> 'own') = 'null';
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function global_search_of is 'The collections that the caller can search together.';

create or replace function fields_where(definition jsonb, word text) returns text[] as $$
  select array(
    select f ->> 'name' from jsonb_array_elements(definition -> 'fields') with ordinality as x(f, place)
    where (f ->> fields_where.word)::boolean order by place
  )
$$ language sql immutable;

create or replace function search_name(collection text) returns text as $$
  select coalesce(current_setting('office.search_prefix', true), '') || search_alias(search_name.collection)
$$ language sql stable;
comment on function search_name is 'The collection''s name for front ends.';

create or replace function search_collections() returns setof search_collection_view as $$
begin
  perform require_full_login();
  return query
    select search_name(c ->> 'type'), c ->> 'title', fields_where(c, 'searchable'), fields_where(c, 'filterable'), fields_where(c, 'sortable'),
      fields_where(c, 'facet'), c ->> 'defaultSort', array[10, 25, 50, 100]
    from searchable_collections() as c;
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function search_collections is '@guard login
The collections of the search engine that the caller''s permissions give access to.';

create or replace function search_status() returns setof search_status_view as $$
begin
  perform require_full_login();
  return query
    select s.collection, search_name(s.collection), i.version is not null, i.building is not null, coalesce(i.building_rows, 0), i.built_at,
      coalesce(o.waiting, 0)::integer, (select count(*)::integer from search_failures f where f.collection = s.collection), i.error, o.since
    from search_catalogue s left join search_indexes i on i.collection = s.collection left join (
      select c.table_name, count(*) as waiting, min(c.created_at) as since from row_changes c where c.reader = 'search' group by 1
    ) as o on o.table_name = s.table_name
    where may_search(s.keys)
    order by 1;
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function search_status is '@guard login
The index state of each collection that the caller may search.';

grant execute on function search_config_of, global_search_of, search_collections, search_status to office_api;
