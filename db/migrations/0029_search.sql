-- Each search that a tag offers has its index.
-- lint: allow alter-type because another collation rewrites no table, and no release has orders yet
alter table orders alter column erp_id type text collate "C";
-- lint: allow create-index because no release has orders yet
create index orders_erp_id_idx on orders (erp_id);
-- lint: allow create-index because no release has orders yet
create index order_lines_erp_product_group_idx on order_lines (erp_product_group text_pattern_ops);
-- lint: allow create-index because no release has orders yet
create index order_import_issues_key_idx on order_import_issues (key);
-- lint: allow alter-type because another collation rewrites no table, and no release has jobs yet
alter table jobs alter column correlation_id type text collate "C";
-- lint: allow create-index because no release has jobs yet
create index jobs_correlation_id_idx on jobs (correlation_id);
-- lint: allow create-index because no release has jobs yet
create index jobs_kind_idx on jobs (kind, created_at desc, id desc);
-- lint: allow create-index because no release has jobs yet
create index jobs_subject_search_idx on jobs using gin (search_text(subject) extensions.gin_trgm_ops);

-- Ordered by nothing but one of few kinds, jobs would all have to be sorted for each page.
comment on column jobs.kind is '@search exact
@behavior -attribute:orderBy
What sort of work it is, for programs, such as `product_sync`.';
-- Ordered by nothing but a truth, orders would all have to be sorted for each page.
comment on column orders.has_import_mapping_issue is '@behavior -attribute:orderBy
Whether the order holds a value that has no mapping rule.';
comment on column orders.has_import_data_issue is '@behavior -attribute:orderBy
Whether the order lacks something that only the ERP can supply.';
