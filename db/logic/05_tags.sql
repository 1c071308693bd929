-- Smart tags: lines `@name value` at the start of a comment. SQL reads them here for policies, grants and triggers; the
-- server reads the same tags for the API.
-- A single expression, so that PostgreSQL inlines it. Each line becomes two: the name and the value.
create or replace function comment_tags(comment text) returns jsonb as $$
  -- Most comments have no tags.
  select case when starts_with(comment, '@') then jsonb_object(string_to_array(
      regexp_replace(substring(comment from '^@[^\n]*(?:\n@[^\n]*)*'), '^@(\w*)[ \t]*(.*?)[ \t]*$', e'\\1\n\\2', 'gn'), e'\n')) - ''
    else '{}'::jsonb end
$$ language sql immutable;
comment on function comment_tags is 'The smart tags of a comment as {name: value}.';
-- Its work is part of `comment_tags`.
drop function if exists tags_in(text);

create or replace function table_tags(relation regclass) returns jsonb as $$
  select comment_tags(obj_description(table_tags.relation, 'pg_class'))
$$ language sql stable;
comment on function table_tags is 'The smart tags of a table as {name: value}.';

-- The same titles as `titleOf` in src/schema/rowNames.ts.
create or replace function words_of(name text) returns text as $$
  select string_agg(
    coalesce(upper(m[1]) || m[2], case when place = 1 then upper(left(w, 1)) || substr(w, 2) else w end), ' ' order by place
  )
  -- A number after a word is a word, as in `address2`.
  from string_to_table(case words_of.name when 'updated_at' then 'changed'
      else regexp_replace(regexp_replace(words_of.name, '([a-z]{3,})(\d+)(?=_|$)', '\1_\2', 'g'), '_at$', '') end, '_')
      with ordinality as t(word, place)
    cross join regexp_replace(word, '^email(s?)$', 'e-mail\1') as w
    left join lateral regexp_match(w, '^(id|ip|erp|url|ai|api|vat|sms|ean|sku|iban|pdf|csv|xlsx)(s?)$') as m on true
$$ language sql immutable parallel safe;
comment on function words_of is 'Converts a database name to words for a title.';

create or replace function title_of(tags jsonb, name text) returns text as $$
  select coalesce(nullif(btrim(title_of.tags ->> 'title'), ''), words_of(title_of.name))
$$ language sql immutable parallel safe;
comment on function title_of is 'The title of a column or function: its tag @title, or its name in words.';

create or replace function inside_sentence(title text) returns text as $$
  select case when title ~ '^[[:upper:]][[:upper:][:digit:]]' then title else lower(left(title, 1)) || substr(title, 2) end
$$ language sql immutable parallel safe;
comment on function inside_sentence is 'Lowercases the first letter of a title for use inside a sentence; abbreviations such as ID and ERP stay.';
