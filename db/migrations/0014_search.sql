-- Orders, lines and import issues are found by what the ERP calls them, byte for byte.
-- lint: allow alter-type because another collation rewrites no table, and no release has orders yet
alter table orders alter column erp_id type text collate "C";
-- lint: allow create-index because no release has orders yet
create index orders_erp_id_idx on orders (erp_id);
-- lint: allow create-index because no release has orders yet
create index order_lines_erp_product_group_idx on order_lines (erp_product_group text_pattern_ops);
-- lint: allow create-index because no release has orders yet
create index order_import_issues_key_idx on order_import_issues (key);

-- Ordered by nothing but a truth, orders would all have to be sorted for each page.
comment on column orders.has_import_mapping_issue is '@behavior -attribute:orderBy
Whether the order holds a value that has no mapping rule.';
comment on column orders.has_import_data_issue is '@behavior -attribute:orderBy
Whether the order lacks something that only the ERP can supply.';
