-- Whoever minds the import sees of orders what names them; whole orders need `orders.read`.
comment on table orders is '@summary erp_order_number placed_at status
@searchCollection orders
@searchSort placed_at desc
@read orders.read
@audit Order id except has_import_mapping_issue has_import_data_issue
@auditReads
@connection
@order placed_at desc
An order of a customer, as the ERP holds it.';
