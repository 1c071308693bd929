-- Whoever minds the import sees of orders what names them; whole orders need `orders.read`.
comment on table orders is '@summary erp_order_number placed_at status
@searchCollection orders
@searchSort placed_at desc
@read orders.read
@audit Order id except has_import_mapping_issue has_import_data_issue
@auditReads
@connection
@defaultOrder placed_at desc
An order of a customer, as the ERP holds it.';

-- Who sees what a row refers to, where the permission to read that is not what counts.
comment on constraint campaigns_author_user_id_fkey on campaigns is '@forwardFollows parent
@fieldName author
@notNull
@foreignConnectionFieldName campaigns
@behavior +singularRelation:resource:single +manyRelation:resource:connection';
comment on constraint campaigns_product_id_fkey on campaigns is '@forwardFollows parent
@foreignConnectionFieldName campaigns
@behavior +singularRelation:resource:single +manyRelation:resource:connection';
comment on constraint users_department_id_fkey on users is '@forwardFollows own
@forwardScopedRead departments.read
@foreignConnectionFieldName members
@behavior +singularRelation:resource:single +manyRelation:resource:connection';
comment on constraint jobs_user_id_fkey on jobs is '@forwardFollows own
@forwardBehavior +singularRelation:resource:single
@fieldName user';
