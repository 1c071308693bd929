-- Views of different kinds over the tables of `suppliers` and the product's.

-- A filter.
create view open_suppliers with (security_invoker = true) as
  select s.id, s.name, s.country, s.status, s.labels, s.labels[1] as first_label, s.credit_limit, s.created_at from suppliers s where s.status = 'ACTIVE';
comment on view open_suppliers is '@read suppliers.read
@audit off because its rows are those of suppliers
@connection
@defaultOrder name
@primaryKey id
@foreignKey (id) references suppliers (id)|@forwardBehavior +singularRelation:resource:single|@fieldName supplier|@notNull
Suppliers of whom we order.';
comment on column open_suppliers.name is '@search word
@notNull
What they are called.';
comment on column open_suppliers.country is 'Where they are.';
comment on column open_suppliers.status is 'How we stand with them.';
comment on column open_suppliers.labels is '@search
Words that staff sort them by.';
comment on column open_suppliers.first_label is '@notNull
The first of them.';
comment on column open_suppliers.credit_limit is 'How much we may owe them.';

-- An aggregate, with a key of another name and type.
create view supplier_totals with (security_invoker = true) as
  select s.id as supplier_id, s.country, count(p.id) as product_count, avg(p.alcohol_percent)::numeric(6, 2) as average_alcohol,
    max(p.vintage) as latest_vintage, jsonb_build_object('names', jsonb_agg(p.name order by p.name)) as details
  from suppliers s left join products p on p.supplier_id = s.id
  group by s.id;
comment on view supplier_totals is '@read suppliers.read products.read
@audit off because its figures name nobody
@connection
@defaultOrder product_count desc
@primaryKey supplier_id
@foreignKey (supplier_id) references suppliers (id)|@behavior +singularRelation:resource:single|@fieldName supplier|@foreignSingleFieldName totals|@notNull
What comes from each supplier.';
comment on column supplier_totals.country is 'Where the supplier is.';
comment on column supplier_totals.product_count is '@notNull
How many products.';
comment on column supplier_totals.average_alcohol is 'Their alcohol on average.';
comment on column supplier_totals.latest_vintage is 'The latest vintage of them.';
comment on column supplier_totals.details is 'What they are called.';

-- A view on a view, as a plain list.
create view largest_suppliers with (security_invoker = true) as
  select t.supplier_id, t.product_count, s.name from supplier_totals t join open_suppliers s on s.id = t.supplier_id
  where t.product_count > 1;
comment on view largest_suppliers is '@read products.read suppliers.read
@audit off because its figures name nobody
@defaultOrder product_count desc, name
Open suppliers of several products.';
comment on column largest_suppliers.product_count is 'How many products.';
comment on column largest_suppliers.name is 'What they are called.';

-- A join, with several rows of a supplier, which shows behind it page by page.
create view supplied_products with (security_invoker = true) as
  select p.id, p.name, p.vintage, p.alcohol_percent, s.id as supplier_id, s.name as supplier_name, s.status
  from products p join suppliers s on s.id = p.supplier_id;
comment on view supplied_products is '@name supplied_wines
@read products.read suppliers.read
@audit off because its rows are those of products
@connection
@defaultOrder name
@primaryKey id
@foreignKey (supplier_id) references suppliers (id)|@forwardBehavior +singularRelation:resource:single|@fieldName supplier|@backwardBehavior +manyRelation:resource:connection|@foreignConnectionFieldName wines
Products with whom they come from.';
comment on column supplied_products.name is '@search word
Its name.';
comment on column supplied_products.vintage is 'Its vintage.';
comment on column supplied_products.alcohol_percent is 'Its alcohol.';
comment on column supplied_products.supplier_name is 'Who it comes from.';
comment on column supplied_products.status is 'How we stand with them.';

-- A union that shows rows of an audited table.
create view parties with (security_invoker = true) as
  select id, name, 'supplier' as kind from suppliers
  union all
  select id, name, 'customer' from customers;
comment on view parties is '@read suppliers.read customers.read
@auditReads
@connection
@defaultOrder name
@primaryKey id
Whom we deal with.';
comment on column parties.name is 'What they are called.';
comment on column parties.kind is 'What they are to us.';

-- With a key of two columns and a permission that no other view has.
insert into permissions (key, description) values ('reports.read', 'See reports');
create view vintages with (security_invoker = true) as
  select p.supplier_id, p.vintage, count(*)::integer as wines from products p
  where p.supplier_id is not null and p.vintage is not null group by p.supplier_id, p.vintage;
comment on view vintages is '@read products.read reports.read
@audit off because its figures name nobody
@primaryKey supplier_id,vintage
How many wines of a vintage come from a supplier.';
comment on column vintages.vintage is 'The vintage.';
comment on column vintages.wines is '@notNull
How many wines.';
