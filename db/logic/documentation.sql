-- The handbook: visibility, addresses, links and versions.
select ensure_policy('documentation_pages', 'documentation_pages_published', 'select', 'office_api',
  '(select is_login()) and (is_published or (select has_permission(''documentation.update'')))');

create or replace function slug_of(title text) returns text as $$
  select rtrim(left(ltrim(regexp_replace(search_text(slug_of.title), '[^a-z0-9]+', '-', 'g'), '-'), 100), '-')
$$ language sql immutable;

create or replace function documentation_page_id(slug text) returns uuid as $$
  select coalesce(
    (select p.id from documentation_pages p where p.slug = documentation_page_id.slug),
    (select p.id from documentation_slugs s join documentation_pages p on p.id = s.page_id where s.slug = documentation_page_id.slug)
  )
$$ language sql stable;
comment on function documentation_page_id is 'The id of the page with this current or earlier address.';

create or replace function documentation_pages_author_name(page documentation_pages) returns text as $$
  select colleague_name(page.author_user_id)
$$ language sql stable;
comment on function documentation_pages_author_name is '@computed
@list 5
@title Author
The name of the author of the first version; null for a page of the product.';

create or replace function documentation_pages_updated_by_name(page documentation_pages) returns text as $$
  select colleague_name(page.updated_by_user_id)
$$ language sql stable;
comment on function documentation_pages_updated_by_name is '@computed
@title Changed by
The name of the author of the latest version; null for a page of the product.';

create or replace function documentation_versions_author_name(version documentation_versions) returns text as $$
  select colleague_name(version.author_user_id)
$$ language sql stable;
comment on function documentation_versions_author_name is '@computed
@list 3
@title Author
The name of the author; null for a page of the product.';
grant execute on function documentation_pages_author_name, documentation_pages_updated_by_name, documentation_versions_author_name
to office_api;

create or replace function without_code(markdown text) returns text as $$
  -- One expression for each kind of fence: with alternatives it would be greedy.
  select regexp_replace(regexp_replace(regexp_replace(without_code.markdown, '```.*?```', '', 'g'), '~~~.*?~~~', '', 'g'),
    '`[^`\n]*`', '', 'g')
$$ language sql immutable;

-- Links with a scheme, a path or only an anchor are not links to pages. No repetition in the expressions matches the
-- beginning of another link, so that they take linear time.
create or replace function documentation_links(markdown text) returns table (slug text) as $$
  select distinct coalesce(m[1], m[2])
  from without_code(documentation_links.markdown) as t(text),
    (values
      ('\]\(\s*', '(?:\s*\)|\s+["''(])'),
      ('^ {0,3}(?:> {0,4})*\[(?!\^)[^][\n]+\]:[ \t]*\n?[ \t]*', '(?:\s*$|\s+["''(])')
    ) as link(beginning, ending),
    regexp_matches(t.text,
      link.beginning || '(?:<(?:\./)?([A-Za-z0-9_-]+)(?:#[^<>\n]*)?>|(?:\./)?([A-Za-z0-9_-]+)(?:#[^()\s<>]*)?)' || link.ending,
      'gn') as m
$$ language sql immutable;
comment on function documentation_links is
  'The addresses of pages in links `[text](address "title")` and definitions `[label]: address` outside of code.';

create or replace function check_documentation_links(body text, own_slug text) returns void as $$
declare
  v_broken text;
begin
  select l.slug into v_broken from documentation_links(check_documentation_links.body) as l
  where l.slug <> check_documentation_links.own_slug and documentation_page_id(l.slug) is null
  order by l.slug limit 1;
  if found then
    perform fail('OF400', format('body links to %s, but no page has this address', v_broken), '{"path": ["input", "body"]}');
  end if;
end;
$$ language plpgsql stable;

-- Moves are checked one after the other, so that two of them cannot form a cycle.
create or replace function check_documentation_parent(page_id uuid, parent_id uuid) returns void as $$
declare
  v_levels integer;
begin
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.documentation_pages', 0));
  with recursive above as (
    select p.id, p.parent_id, 1 as level from documentation_pages p where p.id = check_documentation_parent.parent_id
    union all
    select p.id, p.parent_id, a.level + 1 from above a join documentation_pages p on p.id = a.parent_id where a.level <= 10
  ),
  below as (
    select check_documentation_parent.page_id as id, 1 as level
    union all
    select p.id, b.level + 1 from below b join documentation_pages p on p.parent_id = b.id where b.level <= 10
  )
  select case when exists (select from above a where a.id = check_documentation_parent.page_id) then null
    else (select max(a.level) from above a) + (select max(b.level) from below b) end
  into v_levels;
  if v_levels is null and exists (select from documentation_pages p where p.id = check_documentation_parent.parent_id) then
    perform fail('OF400', 'parentId cannot be the page itself or one below it', '{"path": ["input", "parentId"]}');
  elsif v_levels > 10 then
    perform fail('OF400', 'parentId is too deep: the tree has 10 levels at most', '{"path": ["input", "parentId"]}');
  end if;
end;
$$ language plpgsql volatile;

create or replace function documentation_words(language regconfig, page documentation_pages) returns tsvector as $$
  select setweight(to_tsvector(documentation_words.language, page.title || ' ' || array_to_string(page.tags, ' ')), 'A')
    || to_tsvector(documentation_words.language, page.body)
$$ language sql stable;
comment on function documentation_words is 'The words of a page in one language; those of its title and tags have more weight.';

create or replace function tg_documentation_pages__check() returns trigger as $$
begin
  if current_user_id() is not null and (case tg_op when 'UPDATE' then old.is_built_in else new.is_built_in end) then
    perform fail('OF409', 'This page belongs to the product and cannot be changed', '{"path": ["id"]}');
  end if;
  if new.slug = '' then
    new.slug := coalesce(nullif(slug_of(new.title), ''), 'page-' || new.id);
  end if;
  if tg_op = 'INSERT' then
    -- Requests cannot set these columns.
    if not is_restoring() then
      new.author_user_id := coalesce(new.author_user_id, current_user_id());
      new.updated_by_user_id := coalesce(new.updated_by_user_id, new.author_user_id);
    end if;
  -- Versions hold the content. The place of a page in the tree, its address and its publication stay when one is restored.
  elsif (new.title, new.body, new.tags) is distinct from (old.title, old.body, old.tags) then
    new.version := old.version + 1;
    new.updated_by_user_id := current_user_id();
  end if;
  new.search_vector := documentation_words('pg_catalog.danish', new) || documentation_words('pg_catalog.english', new);
  if new.parent_id is not null and (tg_op = 'INSERT' or new.parent_id is distinct from old.parent_id) then
    perform check_documentation_parent(new.id, new.parent_id);
  end if;
  -- Pages of the product are inserted together and link to each other.
  if not new.is_built_in and not is_restoring() and (tg_op = 'INSERT' or new.body <> old.body) and octet_length(new.body) <= 200000 then
    perform check_documentation_links(new.body, new.slug);
  end if;
  return new;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_documentation_pages__check is 'Sets the address, author, version and search words of a page; checks its parent and links.';
select ensure_trigger('documentation_pages', '_200_check',
  'before insert or update on %TABLE% for each row execute function tg_documentation_pages__check()');

create or replace function tg_documentation_pages__keep() returns trigger as $$
begin
  -- A restored page has its versions restored as well.
  if tg_op = 'INSERT' and not is_restoring() or tg_op = 'UPDATE' and new.version <> old.version then
    insert into documentation_versions (page_id, number, title, body, tags, author_user_id)
    values (new.id, new.version, new.title, new.body, new.tags, new.updated_by_user_id);
  end if;
  delete from documentation_slugs s where s.slug = new.slug;
  if tg_op = 'UPDATE' and new.slug <> old.slug then
    insert into documentation_slugs (slug, page_id) values (old.slug, new.id)
    on conflict on constraint documentation_slugs_pkey do update set page_id = excluded.page_id;
  end if;
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_documentation_pages__keep is 'Stores the version and the earlier address of a page.';
select ensure_trigger('documentation_pages', '_500_keep',
  'after insert or update on %TABLE% for each row execute function tg_documentation_pages__keep()');

create or replace function tg_documentation_pages__check_delete() returns trigger as $$
begin
  if old.is_built_in and current_user_id() is not null then
    perform fail('OF409', 'This page belongs to the product and cannot be deleted', '{"path": ["id"]}');
  end if;
  return old;
end;
$$ language plpgsql volatile;
comment on function tg_documentation_pages__check_delete is 'Rejects the deletion of pages of the product.';
select ensure_trigger('documentation_pages', '_200_check_delete',
  'before delete on %TABLE% for each row execute function tg_documentation_pages__check_delete()');

create or replace function documentation_page_by_slug(slug text) returns documentation_pages as $$
begin
  perform require_full_login();
  -- As the policies of the table.
  return (
    select p from documentation_pages p
    where p.id = documentation_page_id(documentation_page_by_slug.slug)
      and (p.is_published or p.author_user_id = current_user_id() or has_permission('documentation.update'))
  );
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function documentation_page_by_slug is '@guard login
@nullable
@argument slug The current or an earlier address. The `slug` of the result is the current one.
The page with this address; null when it does not exist or the caller cannot read it.';

create or replace function any_word(query tsquery) returns tsquery as $$
  select string_agg(m[1], ' | ')::tsquery from regexp_matches(querytree(any_word.query), '(''(?:[^'']|'''')+'')', 'g') as m
$$ language sql stable;
comment on function any_word is 'A search for any word of another search but those that it excludes.';

-- Longer words are rarer. A stem can end in an E or I that the word lacks: hope for hoping, parti for party.
create or replace function word_beginnings(query tsquery) returns setof text as $$
  select '(?i)(?:^|\W)' || regexp_replace(regexp_replace(word, '(..)[ei]$', '\1'), '([][\\^$.|?*+(){}])', '\\\1', 'g')
  from unnest(tsvector_to_array(replace(any_word(word_beginnings.query)::text, ' | ', ' ')::tsvector)) as word
  order by length(word) desc, word limit 6
$$ language sql stable;
comment on function word_beginnings is 'Regular expressions for the beginnings of the longest words of a search.';

-- Three parts for each beginning, because it can be that of another word. `regexp_instr` would find all matches first.
create or replace function matching_parts(body text, query tsquery) returns setof text as $$
declare
  v_beginning text;
  v_rest text;
  v_at integer;
begin
  for v_beginning in select * from word_beginnings(matching_parts.query) loop
    v_rest := matching_parts.body;
    for n in 1 .. 3 loop
      v_at := strpos(v_rest, substring(v_rest from v_beginning));
      exit when v_at is null;
      return next substr(v_rest, greatest(v_at - 300, 1), least(v_at, 301) + 1700);
      v_rest := regexp_replace(substr(v_rest, v_at + 1700), '^\S{1,100}', '');
    end loop;
  end loop;
end;
$$ language plpgsql stable;
comment on function matching_parts is 'Parts of a text of at most 2001 characters that can contain a word of a search.';

create or replace function documentation_excerpt(body text, danish tsquery, english tsquery) returns text as $$
  select ts_headline(coalesce(f.language, 'pg_catalog.simple'), coalesce(f.part, left(documentation_excerpt.body, 2000)),
    coalesce(f.query, ''), 'StartSel="", StopSel="", MaxWords=30, MinWords=10, MaxFragments=2, FragmentDelimiter=" … "')
  from (select) as one left join lateral (
    select l.language, p.part, case when t.words @@ l.query then l.query else l.any_word end as query
    from matching_parts(documentation_excerpt.body, danish || english) with ordinality as p(part, place),
      (values ('pg_catalog.danish'::regconfig, danish, any_word(danish)), ('pg_catalog.english', english, any_word(english)))
        as l(language, query, any_word),
      -- The offset keeps the planner from computing the words twice.
      lateral (select to_tsvector(l.language, p.part) as words offset 0) as t
    where t.words @@ l.any_word
    order by t.words @@ l.query desc, p.place limit 1
  ) as f on true
$$ language sql stable;
comment on function documentation_excerpt is
  'The text around the words of a search: a part with all of them if one is found; the beginning where the body has none.';
grant execute on function any_word, word_beginnings, matching_parts, documentation_excerpt to office_api;

create or replace function search_documentation(text text, first integer default 20) returns setof documentation_match as $$
declare
  v_danish tsquery := websearch_to_tsquery('pg_catalog.danish', left(search_documentation.text, 1000));
  v_english tsquery := websearch_to_tsquery('pg_catalog.english', left(search_documentation.text, 1000));
begin
  perform require_full_login();
  if search_documentation.first not between 1 and 50 then
    perform fail('OF400', 'first must be 1 to 50', '{"path": ["first"]}');
  elsif char_length(search_documentation.text) > 1000 then
    perform fail('OF400', 'text must be 1000 characters at most', '{"path": ["text"]}');
  end if;
  return query
  select p.id, p.slug, p.title, documentation_excerpt(p.body, v_danish, v_english)
  from (
    select d.* from documentation_pages d
    where d.search_vector @@ (v_danish || v_english)
    order by ts_rank(d.search_vector, v_danish || v_english) desc, d.title, d.id
    limit search_documentation.first
  ) as p;
end;
$$ language plpgsql stable;
comment on function search_documentation is '@guard login
@report Office 35
@icon book
@title Search the handbook
@argument text Words in Danish or English; "a phrase" in quotes, `-word` for pages without it, `or` between alternatives.
@argument first The number of pages, 50 at most.
The readable handbook pages with these words in the title, tags or body, best match first.';

create or replace function documentation_contents() returns setof documentation_entry as $$
begin
  perform require_full_login();
  return query
  with recursive pages as (
    -- A page whose parent the caller cannot read is listed at the top.
    select p.id, p.slug, p.title, p.is_published, above.id as parent_id,
      row_number() over (partition by above.id order by p.position, p.title, p.id) as place
    from documentation_pages p left join documentation_pages above on above.id = p.parent_id
  ),
  tree as (
    select p.*, array[p.place] as places from pages p where p.parent_id is null
    union all
    select p.*, t.places || p.place from tree t join pages p on p.parent_id = t.id
  )
  select array_to_string(t.places, '.'), t.id, t.slug, t.title, t.is_published from tree t order by t.places;
end;
$$ language plpgsql stable;
comment on function documentation_contents is '@guard login
@report Office 34
@icon book
@title Handbook contents
The readable handbook pages as a tree: each page is followed by those below it, in the order of `position`.';

create or replace function documentation_version(id uuid) returns documentation_versions as $$
begin
  perform require_full_login();
  perform require_permission('documentation.update');
  return (select v from documentation_versions v where v.id = documentation_version.id);
end;
$$ language plpgsql stable;
comment on function documentation_version is '@guard login documentation.update
@nullable
A version of a handbook page; null for an unknown id.';

create or replace function restore_documentation_version(id uuid) returns documentation_versions as $$
declare
  v_version documentation_versions;
  v_number integer;
begin
  perform require_full_login();
  perform require_permission('documentation.update');
  select * into v_version from documentation_versions v where v.id = restore_documentation_version.id;
  if not found then
    perform fail('OF404', 'There is no version with this id', '{"path": ["id"]}');
  end if;
  update documentation_pages p set title = v_version.title, body = v_version.body, tags = v_version.tags
  where p.id = v_version.page_id returning p.version into v_number;
  select * into v_version from documentation_versions v where v.page_id = v_version.page_id and v.number = v_number;
  return v_version;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function restore_documentation_version is '@guard login documentation.update
@action
Restores the title, body and tags of a version as a new version, and returns the new version.';

grant execute on function documentation_page_by_slug, search_documentation, documentation_contents, documentation_version, restore_documentation_version
to office_api;
