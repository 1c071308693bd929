-- What the search of the `query` arguments needs: text as it is compared, and indexes over it.
-- lint: allow function-in-migration because the indexes below are over what it returns
create function search_text(value text) returns text as $$
  select lower(extensions.unaccent('extensions.unaccent', value) collate "pg_unicode_fast")
$$ language sql immutable strict parallel safe;
comment on function search_text is
  'Text as searches compare it: in lower case and without accents. An index over it serves them: `gin (search_text(name) extensions.gin_trgm_ops)` for words, `(search_text(name) text_pattern_ops)` for values and beginnings.';
grant execute on function search_text to office_api, office_worker;

-- lint: allow create-index because this release is the first and the table is empty
create index products_search_idx on products using gin (
  search_text(name) extensions.gin_trgm_ops,
  search_text(producer) extensions.gin_trgm_ops,
  search_text(grape_variety) extensions.gin_trgm_ops,
  search_text(region) extensions.gin_trgm_ops
);
-- lint: allow create-index because this release is the first and the table is empty
create index products_country_search_idx on products (search_text(country) text_pattern_ops);
-- lint: allow create-index because this release is the first and the table is empty
create index products_province_search_idx on products (search_text(province) text_pattern_ops);
