-- Products and what hangs on them.
select ensure_policy('products', 'products_of_campaigns', 'select', 'office_api',
  '(select has_permission(''campaigns.read'', ''campaigns.create'', ''campaigns.update'')) and exists (select from campaigns c where c.product_id = products.id)');
select ensure_policy('wine_types', 'wine_types_of_campaigns', 'select', 'office_api',
  '(select has_permission(''campaigns.read'', ''campaigns.create'', ''campaigns.update''))');
