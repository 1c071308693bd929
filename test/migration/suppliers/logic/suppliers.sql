create or replace function suppliers_product_count(supplier suppliers) returns integer as $$
  select count(*)::integer from products p where p.supplier_id = supplier.id
$$ language sql stable;
comment on function suppliers_product_count is '@computed
@notNull
How many products come from them.';

create or replace function suppliers_of(country text default 'FR', statuses supplier_status[] default null)
returns setof suppliers as $$
  select s.* from suppliers s
  where s.country = suppliers_of.country and (statuses is null or s.status = any (statuses))
  order by s.name
$$ language sql stable;
comment on function suppliers_of is '@guard suppliers.read
@deprecated Use `suppliers`; this goes on 2027-06-01.
The suppliers of a country.';

create or replace function note_supplier(erp_product_number text, supplier_id uuid) returns products as $$
declare
  v_product products;
begin
  perform require_permission('products.update');
  update products p set supplier_id = note_supplier.supplier_id
  where p.erp_product_number = note_supplier.erp_product_number
  returning * into v_product;
  if not found then
    perform fail('OF404', 'There is no product with this number', '{"path": ["erpProductNumber"]}');
  end if;
  return v_product;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function note_supplier is '@guard products.update
Notes who a product comes from.';

grant execute on function suppliers_product_count, suppliers_of, note_supplier to office_api;
