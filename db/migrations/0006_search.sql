-- Indexes over the text as searches compare it (`search_text` is made in db/prepare.sql).
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
