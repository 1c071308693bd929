-- A table that the product knows nothing of, with all that its tags can ask for.
insert into permissions (key, description) values
  ('suppliers.read', 'See suppliers'),
  ('suppliers.create', 'Add suppliers'),
  ('suppliers.update', 'Change suppliers'),
  ('suppliers.delete', 'Delete suppliers');

create type supplier_status as enum ('ACTIVE', 'ON_HOLD', 'CLOSED');
comment on type supplier_status is 'How we stand with a supplier.';

create table suppliers (
  id uuid primary key default uuidv7(),
  name text not null,
  country text,
  status supplier_status not null default 'ACTIVE',
  labels text[] not null default '{}',
  credit_limit numeric(12, 2),
  shouted_name text generated always as (upper(name)) stored,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint suppliers_name_check check (is_label(name, 200)),
  constraint suppliers_credit_limit_check check (credit_limit >= 0)
);
create unique index suppliers_name_key on suppliers (lower(name));
create index suppliers_name_idx on suppliers (name, id);
create index suppliers_labels_search_idx on suppliers using gin (search_texts(labels));
create index suppliers_country_idx on suppliers (country, id);
create index suppliers_search_idx on suppliers using gin (search_text(name) extensions.gin_trgm_ops);
comment on table suppliers is '@read suppliers.read
@create suppliers.create
@update suppliers.update
@delete suppliers.delete
@mutations create update delete
@audit Supplier
@connection
@defaultOrder name
Who we buy from.';
comment on column suppliers.name is '@search word
What they are called.';
comment on column suppliers.country is 'Where they are.';
comment on column suppliers.status is 'How we stand with them.';
comment on column suppliers.labels is '@search
Words that staff sort them by.';
comment on column suppliers.credit_limit is 'How much we may owe them.';
comment on column suppliers.shouted_name is 'The name for shouting.';
comment on constraint suppliers_name_check on suppliers is 'must be 1 to 200 visible characters without spaces at its ends';
comment on constraint suppliers_credit_limit_check on suppliers is 'must not be negative';
comment on index suppliers_name_key is 'A supplier of this name exists already.';

alter table products add column supplier_id uuid references suppliers on delete restrict;
-- lint: allow create-index because the products of a test are few
create index products_supplier_id_idx on products (supplier_id);
comment on constraint products_supplier_id_fkey on products is '@behavior +singularRelation:resource:single
@backwardBehavior +manyRelation:resource:list
@foreignFieldName products';
