-- Customers and orders as the ERP holds them.
create table customers (
  id uuid primary key default uuidv7(),
  erp_customer_number text collate "C" not null,
  name text collate display_order not null,
  contact_name text collate display_order,
  email text collate display_order,
  phone text,
  website text,
  address_line1 text,
  address_line2 text,
  postal_code text,
  city text collate display_order,
  region text,
  country text collate display_order,
  currency text,
  vat_number text,
  payment_terms text,
  credit_limit numeric(14, 2),
  balance_due numeric(14, 2),
  is_blocked boolean not null default false,
  erp_revision text,
  source_updated_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  search_words text collate "C" not null
    generated always as (words_text(erp_customer_number, name, contact_name, email, city)) stored,
  erased_at timestamptz,
  constraint customers_erp_customer_number_key unique (erp_customer_number),
  constraint customers_erp_customer_number_check check (is_label(erp_customer_number, 50)),
  constraint customers_name_check check (is_label(name, 300)),
  constraint customers_contact_name_check check (char_length(contact_name) <= 300),
  constraint customers_email_check check (char_length(email) <= 254),
  constraint customers_phone_check check (char_length(phone) <= 80),
  constraint customers_website_check check (char_length(website) <= 2000),
  constraint customers_address_line1_check check (char_length(address_line1) <= 300),
  constraint customers_address_line2_check check (char_length(address_line2) <= 300),
  constraint customers_postal_code_check check (char_length(postal_code) <= 40),
  constraint customers_city_check check (char_length(city) <= 200),
  constraint customers_region_check check (char_length(region) <= 200),
  constraint customers_country_check check (char_length(country) <= 100),
  constraint customers_currency_check check (currency ~ '^[A-Z]{3}$'),
  constraint customers_vat_number_check check (char_length(vat_number) <= 50),
  constraint customers_payment_terms_check check (char_length(payment_terms) <= 200),
  constraint customers_erp_revision_check check (char_length(erp_revision) <= 300)
);
-- The default order, with the stored text that a search tests.
create index customers_name_idx on customers (name, id) include (search_words);
create index customers_created_at_idx on customers (created_at, id);
create index customers_updated_at_idx on customers (updated_at, id);
create index customers_country_idx on customers (country, id);
create index customers_search_idx on customers using gin (search_words extensions.gin_trgm_ops);
create index customers_country_search_idx on customers (search_text(country) text_pattern_ops);
create index customers_vat_number_search_idx on customers (search_text(vat_number) text_pattern_ops);
create index customers_postal_code_search_idx on customers (search_text(postal_code) text_pattern_ops);
comment on table customers is '@group Sales 21
@icon people
@label name erp_customer_number
@searchCollection customers
@searchSort name
@read customers.read
@audit Customer
@auditReads
@connection
@defaultOrder name
A customer, as recorded in the ERP.';
comment on column customers.erp_customer_number is '@list 2
@title Number
@searchIndex searchable filter sort title Customer number
@search exact word
The customer number of the ERP, stored byte for byte with leading zeros.';
comment on column customers.name is '@personal
@list 1
@searchIndex searchable sort
@search word
The name on invoices.';
comment on column customers.contact_name is '@personal
@searchIndex searchable
@search word
The name of the contact person.';
comment on column customers.email is '@personal
@list 5
@widget email
@searchIndex searchable dataType email
@search word
The customer''s e-mail address.';
comment on column customers.phone is '@personal
The phone number, as recorded in the ERP.';
comment on column customers.website is '@personal
@widget url
The website, as recorded in the ERP.';
comment on column customers.address_line1 is '@personal
The street and number.';
comment on column customers.address_line2 is '@personal
The second line of the address.';
comment on column customers.postal_code is '@personal
@searchIndex searchable filter
The postal code, as text.';
comment on column customers.city is '@personal
@list 3
@searchIndex searchable facet
@search word
The town or city.';
comment on column customers.region is '@searchIndex searchable facet
The state, province or county.';
comment on column customers.country is '@list 4
@searchIndex searchable facet sort
The name or code of the country, as recorded in the ERP.';
comment on column customers.currency is '@searchIndex facet
The ISO 4217 code of the customer''s currency, such as `DKK`.';
comment on column customers.vat_number is '@personal
@searchIndex searchable title VAT number
The VAT registration number of the customer.';
comment on column customers.payment_terms is 'The payment terms of invoices, as worded in the ERP.';
comment on column customers.credit_limit is '@widget money
The maximum amount that the customer may owe, a decimal as text; null for no limit.';
comment on column customers.balance_due is '@list 6
@widget money
@title Balance
The amount that the customer owed at the last import, a decimal as text.';
comment on column customers.is_blocked is '@list 7
@title Blocked
@searchIndex facet
Whether the customer is blocked: the ERP accepts no further orders from it.';
comment on column customers.erp_revision is 'The ERP''s revision of the customer.';
comment on column customers.source_updated_at is 'When the customer last changed in the ERP; null if the ERP does not provide this time.';
comment on column customers.created_at is '@searchIndex filter sort';
comment on column customers.updated_at is '@list 8
@searchIndex filter sort';
comment on column customers.search_words is '@internal
The normalised text that word searches compare.';
comment on column customers.erased_at is '@mutations off
@title Anonymised
When the personal data was erased; the import from the ERP does not restore it.';
comment on constraint customers_erp_customer_number_key on customers is
  'A customer with this ERP number exists already.';
comment on constraint customers_erp_customer_number_check on customers is
  'must be 1 to 50 printable characters without spaces at its ends';
comment on constraint customers_name_check on customers is
  'must be 1 to 300 visible characters without spaces at its ends';
comment on constraint customers_contact_name_check on customers is 'must be 300 characters at most';
comment on constraint customers_email_check on customers is 'must be 254 characters at most';
comment on constraint customers_phone_check on customers is 'must be 80 characters at most';
comment on constraint customers_website_check on customers is 'must be 2000 characters at most';
comment on constraint customers_address_line1_check on customers is 'must be 300 characters at most';
comment on constraint customers_address_line2_check on customers is 'must be 300 characters at most';
comment on constraint customers_postal_code_check on customers is 'must be 40 characters at most';
comment on constraint customers_city_check on customers is 'must be 200 characters at most';
comment on constraint customers_region_check on customers is 'must be 200 characters at most';
comment on constraint customers_country_check on customers is 'must be 100 characters at most';
comment on constraint customers_currency_check on customers is 'must be a currency code of three capitals, such as DKK';
comment on constraint customers_vat_number_check on customers is 'must be 50 characters at most';
comment on constraint customers_payment_terms_check on customers is 'must be 200 characters at most';
comment on constraint customers_erp_revision_check on customers is 'must be 300 characters at most';

create type order_status as enum ('DRAFT', 'IN_REVIEW', 'OPEN', 'PARTLY_SHIPPED', 'SHIPPED', 'INVOICED', 'CANCELLED');
comment on type order_status is 'The status of an order in the ERP.';

create table orders (
  id uuid primary key default uuidv7(),
  erp_order_number text collate "C" not null,
  erp_id text collate "C",
  customer_id uuid references customers on delete set null,
  erp_customer_number text collate "C",
  customer_name text collate display_order,
  customer_reference text,
  salesperson text,
  placed_at timestamptz not null,
  requested_delivery_date date,
  status order_status not null default 'OPEN',
  currency text,
  erp_currency text,
  net_amount numeric(14, 2) not null default 0,
  discount_amount numeric(14, 2) not null default 0,
  vat_amount numeric(14, 2) not null default 0,
  total_amount numeric(14, 2) not null default 0,
  payment_method text,
  erp_payment_method text,
  shipping_method text,
  erp_shipping_method text,
  warehouse text,
  erp_warehouse text,
  email text collate display_order,
  phone text,
  delivery_name text,
  delivery_address_line1 text,
  delivery_address_line2 text,
  delivery_postal_code text,
  delivery_city text,
  delivery_region text,
  delivery_country text,
  note text,
  has_import_mapping_issue boolean not null default false,
  has_import_data_issue boolean not null default false,
  superseded_by_order_id uuid references orders on delete set null,
  erp_revision text,
  source_updated_at timestamptz,
  imported_at timestamptz,
  removed_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  search_words text collate "C" not null
    generated always as (words_text(erp_order_number, customer_name, customer_reference, delivery_name)) stored,
  erased_at timestamptz,
  constraint orders_erp_order_number_key unique (erp_order_number),
  constraint orders_erp_order_number_check check (is_label(erp_order_number, 50)),
  constraint orders_erp_id_check check (char_length(erp_id) <= 100),
  constraint orders_erp_customer_number_check check (char_length(erp_customer_number) <= 50),
  constraint orders_customer_name_check check (char_length(customer_name) <= 300),
  constraint orders_customer_reference_check check (char_length(customer_reference) <= 200),
  constraint orders_salesperson_check check (char_length(salesperson) <= 200),
  constraint orders_currency_check check (currency ~ '^[A-Z]{3}$'),
  constraint orders_erp_currency_check check (char_length(erp_currency) <= 50),
  constraint orders_payment_method_check check (char_length(payment_method) <= 100),
  constraint orders_erp_payment_method_check check (char_length(erp_payment_method) <= 100),
  constraint orders_shipping_method_check check (char_length(shipping_method) <= 100),
  constraint orders_erp_shipping_method_check check (char_length(erp_shipping_method) <= 100),
  constraint orders_warehouse_check check (char_length(warehouse) <= 100),
  constraint orders_erp_warehouse_check check (char_length(erp_warehouse) <= 100),
  constraint orders_email_check check (char_length(email) <= 254),
  constraint orders_phone_check check (char_length(phone) <= 80),
  constraint orders_delivery_name_check check (char_length(delivery_name) <= 300),
  constraint orders_delivery_address_line1_check check (char_length(delivery_address_line1) <= 300),
  constraint orders_delivery_address_line2_check check (char_length(delivery_address_line2) <= 300),
  constraint orders_delivery_postal_code_check check (char_length(delivery_postal_code) <= 40),
  constraint orders_delivery_city_check check (char_length(delivery_city) <= 200),
  constraint orders_delivery_region_check check (char_length(delivery_region) <= 200),
  constraint orders_delivery_country_check check (char_length(delivery_country) <= 100),
  constraint orders_note_check check (char_length(note) <= 20000),
  constraint orders_superseded_by_order_id_check check (superseded_by_order_id <> id),
  constraint orders_erp_revision_check check (char_length(erp_revision) <= 300)
);
-- The default order, with the stored text that a search tests.
create index orders_placed_at_idx on orders (placed_at desc, id desc) include (search_words);
create index orders_customer_id_idx on orders (customer_id, placed_at desc, id desc);
create index orders_erp_customer_number_idx on orders (erp_customer_number);
create index orders_status_idx on orders (status, placed_at desc, id desc);
create index orders_total_amount_idx on orders (total_amount, id);
create index orders_created_at_idx on orders (created_at, id);
create index orders_updated_at_idx on orders (updated_at, id);
create index orders_status_order_idx on orders (status, id);
create index orders_superseded_by_order_id_idx on orders (superseded_by_order_id) where superseded_by_order_id is not null;
create index orders_has_import_mapping_issue_idx on orders (has_import_mapping_issue, placed_at desc, id desc);
create index orders_has_import_data_issue_idx on orders (has_import_data_issue, placed_at desc, id desc);
create index orders_search_idx on orders using gin (search_words extensions.gin_trgm_ops);
create index orders_payment_method_search_idx on orders (search_text(payment_method) text_pattern_ops);
create index orders_shipping_method_search_idx on orders (search_text(shipping_method) text_pattern_ops);
create index orders_delivery_country_search_idx on orders (search_text(delivery_country) text_pattern_ops);
create index orders_customer_reference_idx on orders (customer_reference, erp_customer_number) where customer_reference is not null;
-- The rechecks of the import read orders with issues by number.
create index orders_mapping_gaps_idx on orders (erp_order_number) where has_import_mapping_issue;
create index orders_data_gaps_idx on orders (erp_order_number) where has_import_data_issue;
create index orders_erp_id_idx on orders (erp_id);
comment on table orders is '@group Sales 20
@icon cart
@label erp_order_number customer_name
@summary erp_order_number placed_at status
@searchCollection orders
@searchSort placed_at desc
@read orders.read
@audit Order id except has_import_mapping_issue has_import_data_issue
@auditReads
@connection
@defaultOrder placed_at desc
A customer''s order, as recorded in the ERP.';
comment on column orders.erp_order_number is '@list 1
@title Number
@searchIndex searchable filter sort title Order number
@search exact word
The order number of the ERP, stored byte for byte with leading zeros.';
comment on column orders.erp_id is '@search exact
The id of the order in the ERP.';
comment on column orders.customer_id is 'The customer; null until the customer is imported.';
comment on column orders.erp_customer_number is '@searchIndex searchable filter title Customer number
@search exact
The customer number on the order.';
comment on column orders.customer_name is '@personal customer_id
@list 2
@searchIndex searchable facet sort
@search word
The customer''s name on the order.';
comment on column orders.customer_reference is '@searchIndex searchable
@search word
The customer''s reference for the order.';
comment on column orders.salesperson is '@searchIndex searchable facet
The salesperson, as recorded in the ERP.';
comment on column orders.placed_at is '@list 3
@searchIndex filter sort
When the order was placed.';
comment on column orders.requested_delivery_date is '@searchIndex filter sort
The delivery date that the customer requested.';
comment on column orders.status is '@list 4
@tone CANCELLED bad
@tone OPEN info
@tone PARTLY_SHIPPED warn
@tone SHIPPED ok
@tone INVOICED ok
@searchIndex facet
The status of the order in the ERP.';
comment on column orders.currency is '@searchIndex facet
The ISO 4217 code of the currency, such as `DKK`; null while the ERP''s code has no mapping.';
comment on column orders.erp_currency is 'The ERP''s code of the currency.';
comment on column orders.net_amount is '@widget money
The sum of all lines after discounts and before VAT, a decimal as text.';
comment on column orders.discount_amount is '@widget money
The discounts, already deducted from `netAmount`, a decimal as text.';
comment on column orders.vat_amount is '@widget money
The VAT amount, a decimal as text.';
comment on column orders.total_amount is '@list 5
@widget money
@title Total
@searchIndex filter sort
The total amount including VAT, a decimal as text.';
comment on column orders.payment_method is '@searchIndex facet
The payment method; null while the ERP''s code has no mapping.';
comment on column orders.erp_payment_method is 'The ERP''s code of the payment method.';
comment on column orders.shipping_method is '@searchIndex facet
The shipping method; null while the ERP''s code has no mapping.';
comment on column orders.erp_shipping_method is 'The ERP''s code of the shipping method.';
comment on column orders.warehouse is '@searchIndex facet
The warehouse from which most lines are shipped; null while the ERP''s code has no mapping.';
comment on column orders.erp_warehouse is 'The ERP''s code of the warehouse.';
comment on column orders.email is '@personal customer_id
@widget email
The e-mail address for messages about the order.';
comment on column orders.phone is '@personal customer_id
The phone number that the driver can call.';
comment on column orders.delivery_name is '@personal customer_id
@searchIndex searchable
@search word
The name of the recipient.';
comment on column orders.delivery_address_line1 is '@personal customer_id
The street and number.';
comment on column orders.delivery_address_line2 is '@personal customer_id
The second line of the address.';
comment on column orders.delivery_postal_code is '@personal customer_id
The postal code, as text.';
comment on column orders.delivery_city is '@personal customer_id
@searchIndex searchable filter
The town or city.';
comment on column orders.delivery_region is 'The state, province or county.';
comment on column orders.delivery_country is '@searchIndex facet
The name or code of the country, as recorded in the ERP.';
comment on column orders.note is '@personal customer_id
@widget long
A note from the customer or the ERP.';
comment on column orders.has_import_mapping_issue is '@list 7
@title Mapping issue
@searchIndex facet title Lacks a mapping
@behavior -attribute:orderBy
Whether the order contains a value without a mapping rule.';
comment on column orders.has_import_data_issue is '@list 8
@title Data issue
@searchIndex facet title Lacks data
@behavior -attribute:orderBy
Whether the order lacks data that only the ERP can supply.';
comment on column orders.superseded_by_order_id is 'The newer order that replaces this one.';
comment on column orders.erp_revision is 'The ERP''s revision of the order.';
comment on column orders.source_updated_at is 'When the order last changed in the ERP; null if the ERP does not provide this time.';
comment on column orders.removed_at is '@internal
When the order was found to be no longer in the ERP; null for an order that the ERP has.';
comment on column orders.imported_at is
  '@list 9
When an import last changed the order. Importing an unchanged order does not update this time.';
comment on column orders.created_at is '@searchIndex filter sort';
comment on column orders.updated_at is '@searchIndex filter sort';
comment on column orders.search_words is '@internal
The normalised text that word searches compare.';
comment on column orders.erased_at is '@internal
When the personal data was erased; the import does not restore it, even if the order has another customer later.';
comment on constraint orders_erp_order_number_key on orders is 'An order with this ERP number exists already.';
comment on constraint orders_erp_order_number_check on orders is
  'must be 1 to 50 printable characters without spaces at its ends';
comment on constraint orders_erp_id_check on orders is 'must be 100 characters at most';
comment on constraint orders_erp_customer_number_check on orders is 'must be 50 characters at most';
comment on constraint orders_customer_name_check on orders is 'must be 300 characters at most';
comment on constraint orders_customer_reference_check on orders is 'must be 200 characters at most';
comment on constraint orders_salesperson_check on orders is 'must be 200 characters at most';
comment on constraint orders_currency_check on orders is 'must be a currency code of three capitals, such as DKK';
comment on constraint orders_erp_currency_check on orders is 'must be 50 characters at most';
comment on constraint orders_payment_method_check on orders is 'must be 100 characters at most';
comment on constraint orders_erp_payment_method_check on orders is 'must be 100 characters at most';
comment on constraint orders_shipping_method_check on orders is 'must be 100 characters at most';
comment on constraint orders_erp_shipping_method_check on orders is 'must be 100 characters at most';
comment on constraint orders_warehouse_check on orders is 'must be 100 characters at most';
comment on constraint orders_erp_warehouse_check on orders is 'must be 100 characters at most';
comment on constraint orders_email_check on orders is 'must be 254 characters at most';
comment on constraint orders_phone_check on orders is 'must be 80 characters at most';
comment on constraint orders_delivery_name_check on orders is 'must be 300 characters at most';
comment on constraint orders_delivery_address_line1_check on orders is 'must be 300 characters at most';
comment on constraint orders_delivery_address_line2_check on orders is 'must be 300 characters at most';
comment on constraint orders_delivery_postal_code_check on orders is 'must be 40 characters at most';
comment on constraint orders_delivery_city_check on orders is 'must be 200 characters at most';
comment on constraint orders_delivery_region_check on orders is 'must be 200 characters at most';
comment on constraint orders_delivery_country_check on orders is 'must be 100 characters at most';
comment on constraint orders_note_check on orders is 'must be 20000 characters at most';
comment on constraint orders_superseded_by_order_id_check on orders is 'must be another order';
comment on constraint orders_erp_revision_check on orders is 'must be 300 characters at most';
comment on constraint orders_customer_id_fkey on orders is '@foreignConnectionFieldName orders
@behavior +singularRelation:resource:single +manyRelation:resource:connection';
comment on constraint orders_superseded_by_order_id_fkey on orders is '@fieldName supersededBy
@behavior +singularRelation:resource:single';

create type order_line_kind as enum ('PRODUCT', 'SHIPPING', 'DISCOUNT', 'FEE', 'DEPOSIT', 'GIFT_CARD', 'COMMENT', 'OTHER');
comment on type order_line_kind is 'The kind of an order line.';

create table order_lines (
  id uuid primary key default uuidv7(),
  order_id uuid not null references orders on delete cascade,
  line_number integer not null,
  kind order_line_kind,
  erp_product_group text,
  product_id uuid references products on delete set null,
  erp_product_number text collate "C",
  description text,
  quantity numeric(14, 3),
  unit text,
  unit_price numeric(14, 4),
  discount_percent numeric(5, 2),
  vat_code text,
  erp_vat_code text,
  vat_percent numeric(5, 2),
  amount numeric(14, 2),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  warehouse text,
  erp_warehouse text,
  constraint order_lines_order_id_line_number_key unique (order_id, line_number),
  constraint order_lines_erp_product_group_check check (char_length(erp_product_group) <= 100),
  constraint order_lines_erp_product_number_check check (char_length(erp_product_number) <= 50),
  constraint order_lines_description_check check (char_length(description) <= 2000),
  constraint order_lines_unit_check check (char_length(unit) <= 50),
  constraint order_lines_vat_code_check check (char_length(vat_code) <= 50),
  constraint order_lines_erp_vat_code_check check (char_length(erp_vat_code) <= 50),
  constraint order_lines_warehouse_check check (char_length(warehouse) <= 100),
  constraint order_lines_erp_warehouse_check check (char_length(erp_warehouse) <= 100)
);
create index order_lines_product_id_idx on order_lines (product_id);
create index order_lines_erp_product_number_idx on order_lines (erp_product_number);
-- An import links these lines once their product exists.
create index order_lines_unlinked_idx on order_lines (erp_product_number)
  where product_id is null and kind = 'PRODUCT' and erp_product_number is not null;
create index order_lines_erp_product_group_idx on order_lines (erp_product_group text_pattern_ops);
comment on table order_lines is '@read orders.read
@audit OrderLine
@root off
@label description erp_product_number
@defaultOrder line_number
A line of an order.';
comment on column order_lines.order_id is '@list 1
The order of the line.';
comment on column order_lines.line_number is '@list 2
The number of the line in the order, assigned by the ERP.';
comment on column order_lines.kind is '@list 4
The kind of the line; null while the ERP''s product group has no mapping.';
comment on column order_lines.erp_product_group is '@search exact
The ERP''s product group, which determines `kind`.';
comment on column order_lines.product_id is
  'The product; null for lines without a product, and until the product exists in this service.';
comment on column order_lines.erp_product_number is '@list 5
@search exact
The product number on the line, stored byte for byte.';
comment on column order_lines.description is '@list 3
The text of the line.';
comment on column order_lines.quantity is '@list 6
The number of units, a decimal as text; negative for returns, null if the ERP provides no valid quantity.';
comment on column order_lines.unit is '@list 7
The unit of the quantity, such as bottles or cases, as worded in the ERP.';
comment on column order_lines.unit_price is '@list 8
The price of one unit before discount and VAT, a decimal as text; null if the ERP provides no price.';
comment on column order_lines.discount_percent is '@list 9
@widget percent
The discount on the line in per cent, a decimal as text.';
comment on column order_lines.vat_code is 'The VAT code of the line; null while the ERP''s code has no mapping.';
comment on column order_lines.erp_vat_code is 'The ERP''s code of the VAT.';
comment on column order_lines.vat_percent is '@widget percent
The VAT rate in per cent, a decimal as text.';
comment on column order_lines.amount is '@list 10
The amount of the line after discount and before VAT, a decimal as text.';
comment on column order_lines.warehouse is 'The warehouse from which the line is shipped; null while the ERP''s code has no mapping.';
comment on column order_lines.erp_warehouse is 'The ERP''s code of the warehouse.';
comment on constraint order_lines_order_id_line_number_key on order_lines is
  'The order has a line of this number already.';
comment on constraint order_lines_erp_product_group_check on order_lines is 'must be 100 characters at most';
comment on constraint order_lines_erp_product_number_check on order_lines is 'must be 50 characters at most';
comment on constraint order_lines_description_check on order_lines is 'must be 2000 characters at most';
comment on constraint order_lines_unit_check on order_lines is 'must be 50 characters at most';
comment on constraint order_lines_vat_code_check on order_lines is 'must be 50 characters at most';
comment on constraint order_lines_erp_vat_code_check on order_lines is 'must be 50 characters at most';
comment on constraint order_lines_warehouse_check on order_lines is 'must be 100 characters at most';
comment on constraint order_lines_erp_warehouse_check on order_lines is 'must be 100 characters at most';
comment on constraint order_lines_order_id_fkey on order_lines is '@fieldName order
@notNull
@foreignFieldName lines
@behavior +singularRelation:resource:single +manyRelation:resource:list';
comment on constraint order_lines_product_id_fkey on order_lines is '@foreignConnectionFieldName orderLines
@behavior +singularRelation:resource:single +manyRelation:resource:connection';

-- Notes of the office about customers, whom only the ERP changes.
create table customer_notes (
  id uuid primary key default uuidv7(),
  customer_id uuid not null references customers on delete cascade,
  body text not null,
  author_user_id uuid references users on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint customer_notes_body_check check (body ~ '\S' and char_length(body) <= 10000)
);
create index customer_notes_created_at_idx on customer_notes (created_at desc, id desc);
create index customer_notes_customer_id_idx on customer_notes (customer_id, created_at desc, id desc);
create index customer_notes_author_user_id_idx on customer_notes (author_user_id);
create index customer_notes_body_search_idx on customer_notes using gin (search_text(body) extensions.gin_trgm_ops);
comment on table customer_notes is '@group Sales 22
@icon chat
@searchCollection customer_notes
@searchSort created_at desc
@label body created_at
@title Customer notes
@read customers.read
@create customers.update
@update customers.update
@delete customers.update
@mutations create update delete
@audit CustomerNote
@auditReads
@connection
@defaultOrder created_at desc
A note about a customer, in addition to the data of the ERP.';
comment on column customer_notes.customer_id is '@list 2
@title Customer
The customer.';
comment on column customer_notes.body is '@personal customer_id
@searchIndex searchable
@title Note
@list 1
@widget long
@search word
The text of the note.';
comment on column customer_notes.author_user_id is '@mutations off
@list off
@title Author (user)
The user who created the note; null if the user was deleted.';
comment on column customer_notes.created_at is '@searchIndex filter sort
@title Written
@list 4';
comment on constraint customer_notes_body_check on customer_notes is 'must be 1 to 10000 characters, not only spaces';
comment on constraint customer_notes_customer_id_fkey on customer_notes is '@searchIndex name searchable
@forwardBehavior +singularRelation:resource:single
@fieldName customer
@backwardBehavior +manyRelation:resource:connection
@foreignConnectionFieldName notes';
comment on constraint customer_notes_author_user_id_fkey on customer_notes is '@forwardBehavior +singularRelation:resource:single
@fieldName author';
