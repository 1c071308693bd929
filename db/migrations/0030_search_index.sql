-- What the search engine holds: which fields of which tables, what has changed and was not told to it yet, and the keys to it.
create table search_catalogue (
  collection text primary key,
  relation text not null,
  keys text[] not null,
  own text[],
  title text not null,
  definition jsonb not null,
  document_query text not null,
  signature text not null
);
comment on table search_catalogue is '@internal
@audit off because each migration writes it anew from the tags
The collections that the search engine is to have, as the tags say.';
comment on column search_catalogue.relation is 'The table whose rows they hold.';
comment on column search_catalogue.keys is 'The permissions that searching them takes.';
comment on column search_catalogue.own is 'Of a table with `@own`, the columns that say whose a row is.';
comment on column search_catalogue.definition is 'What the front end is told of them.';
comment on column search_catalogue.document_query is 'The statement that reads the documents of the rows with the ids $1.';
comment on column search_catalogue.signature is 'Of all that takes a new version of the collection when it changes.';

create table search_indexes (
  collection text primary key,
  version text,
  signature text,
  built_at timestamptz,
  building text,
  building_signature text,
  building_cursor uuid,
  building_rows integer not null default 0,
  error text
);
comment on table search_indexes is '@internal
@audit off because it is bookkeeping of what the search engine holds
The collections of the search engine: which version is served, and how far the next one is.';
comment on column search_indexes.version is 'The engine''s name of the version that the alias leads to; null before the first.';
comment on column search_indexes.signature is 'Of the fields that this version has; null when it is to be built anew.';
comment on column search_indexes.building is 'The engine''s name of the version that is being built; null when none is.';
comment on column search_indexes.building_cursor is 'The last row that is in it; rows come in the order of their ids.';
comment on column search_indexes.error is 'Why the engine refused to build the next one; null when it did not.';

create table search_outbox (
  id bigint generated always as identity primary key,
  collection text not null,
  document_id uuid not null,
  wakes boolean not null default false,
  created_at timestamptz not null default clock_timestamp()
);
comment on table search_outbox is '@internal
@audit off because it is bookkeeping of what the search engine has to be told
Rows that have changed, been added or deleted and of which the search engine was not told yet, in their order.';
comment on column search_outbox.wakes is 'Whether the worker is to be woken for it: once in a transaction.';

create table search_failures (
  collection text not null,
  document_id uuid not null,
  message text not null,
  failed_at timestamptz not null default clock_timestamp(),
  primary key (collection, document_id)
);
comment on table search_failures is '@internal
@audit off because it is bookkeeping of what the search engine holds
Rows that the search engine would not take, until it takes them.';

create table search_keys (
  mark text not null,
  generation integer not null,
  collections text[] not null,
  engine_id bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  retired_at timestamptz,
  primary key (mark, generation, collections)
);
comment on table search_keys is '@internal
@audit off because it is bookkeeping of what the search engine holds
The search-only keys that the engine knows, one for each set of collections, from which users'' short-lived ones are derived. Their values are kept nowhere: whoever has the engine''s administration key computes them.';
comment on column search_keys.mark is 'Tells keys that were computed from different administration keys apart.';
comment on column search_keys.generation is 'Grows with each rotation.';
comment on column search_keys.engine_id is 'The engine''s id of the key, by which it is removed.';

create table search_generations (
  generation integer primary key,
  created_at timestamptz not null default clock_timestamp()
);
comment on table search_generations is '@internal
@audit off because it is bookkeeping of what the search engine holds
The rotations of the search-only keys.';

create table search_leftovers (
  kind text not null,
  name text not null,
  primary key (kind, name),
  constraint search_leftovers_kind_check check (kind in ('alias', 'collection', 'key'))
);
comment on table search_leftovers is '@internal
@audit off because it is bookkeeping of what the search engine holds
What test runs that are over have left in the search engine, to be removed from it.';

create type search_collection_view as (
  collection_name text, display_name text, searchable_fields text[], filterable_fields text[], sortable_fields text[],
  facet_fields text[], default_sort text, page_size_options integer[]
);
comment on type search_collection_view is '@name search_collection_summary
What can be searched in the search engine: a collection and its fields.';
comment on column search_collection_view.collection_name is '@notNull
As requests to the search engine name it.';
comment on column search_collection_view.display_name is '@notNull
For people.';
comment on column search_collection_view.searchable_fields is '@notNull
Where words are looked for, in this order.';
comment on column search_collection_view.filterable_fields is '@notNull
What can stand in `filter_by`.';
comment on column search_collection_view.sortable_fields is '@notNull
What can stand in `sort_by`.';
comment on column search_collection_view.facet_fields is '@notNull
What can stand in `facet_by`.';
comment on column search_collection_view.default_sort is '@notNull
The `sort_by` of a list that was not searched, such as `name:asc`.';
comment on column search_collection_view.page_size_options is '@notNull
How many rows a page may be offered with.';

create type search_status_view as (
  type text, collection_name text, enabled boolean, is_building boolean, built_rows integer, built_at timestamptz,
  waiting integer, lag_seconds double precision, refused integer, error text
);
comment on type search_status_view is '@name search_status
How well the search engine knows a table.';
comment on column search_status_view.type is '@notNull
As `searchConfig` names it.';
comment on column search_status_view.collection_name is '@notNull
As requests to the search engine name it.';
comment on column search_status_view.enabled is '@notNull
False until it was built for the first time.';
comment on column search_status_view.is_building is '@notNull
Whether a new version of it is being built.';
comment on column search_status_view.built_rows is '@notNull
How many rows the version that is being built has so far.';
comment on column search_status_view.built_at is 'When the version that serves was built; null before the first.';
comment on column search_status_view.waiting is '@notNull
Changes that the engine was not told yet.';
comment on column search_status_view.lag_seconds is '@notNull
For how long the oldest of them has waited, in seconds; 0 when there is none.';
comment on column search_status_view.refused is '@notNull
Rows that the engine would not take.';
comment on column search_status_view.error is 'Why the engine would not build the next version; null when nothing is wrong.';

comment on constraint products_wine_type_id_fkey on products is '@searchIndex name searchable facet sort, color filter dataType hexColor
@behavior +singularRelation:resource:single';

-- The tags, put before what the comments say already.
-- lint: allow do-block because it keeps the comments of earlier migrations, which others may be changing as well, word for word
do $$
declare
  v_tag record;
begin
  for v_tag in
    select * from (values
      ('products', E'@searchCollection products\n@searchSort name'),
      ('orders', E'@searchCollection orders\n@searchSort placed_at desc'),
      ('customers', E'@searchCollection customers\n@searchSort name'),
      ('campaigns', E'@searchCollection campaigns\n@searchSort scheduled_at desc')
    ) as t(relation, tags)
  loop
    execute format('comment on table %I is %L', v_tag.relation,
      v_tag.tags || e'\n' || obj_description(v_tag.relation::regclass, 'pg_class'));
  end loop;
  for v_tag in
    select * from (values
      ('products', 'name', 'searchable sort'),
      ('products', 'erp_product_number', 'searchable filter sort title Product number'),
      ('products', 'producer', 'searchable facet sort'),
      ('products', 'grape_variety', 'searchable facet'),
      ('products', 'vintage', 'facet sort'),
      ('products', 'country', 'searchable facet sort'),
      ('products', 'province', 'searchable facet'),
      ('products', 'region', 'searchable facet'),
      ('products', 'description', 'searchable'),
      ('products', 'alcohol_percent', 'filter sort'),
      ('products', 'bottle_size_ml', 'facet title Bottle size (ml)'),
      ('products', 'stock_quantity', 'filter sort'),
      ('products', 'is_active', 'facet title On sale'),
      ('products', 'created_at', 'filter sort'),
      ('products', 'updated_at', 'filter sort'),
      ('orders', 'erp_order_number', 'searchable filter sort title Order number'),
      ('orders', 'customer_name', 'searchable facet sort'),
      ('orders', 'erp_customer_number', 'searchable filter title Customer number'),
      ('orders', 'customer_reference', 'searchable'),
      ('orders', 'salesperson', 'searchable facet'),
      ('orders', 'delivery_name', 'searchable'),
      ('orders', 'delivery_city', 'searchable filter'),
      ('orders', 'delivery_country', 'facet'),
      ('orders', 'placed_at', 'filter sort'),
      ('orders', 'requested_delivery_date', 'filter sort'),
      ('orders', 'status', 'facet'),
      ('orders', 'currency', 'facet'),
      ('orders', 'total_amount', 'filter sort'),
      ('orders', 'payment_method', 'facet'),
      ('orders', 'shipping_method', 'facet'),
      ('orders', 'warehouse', 'facet'),
      ('orders', 'has_import_mapping_issue', 'facet title Lacks a mapping'),
      ('orders', 'has_import_data_issue', 'facet title Lacks data'),
      ('orders', 'created_at', 'filter sort'),
      ('orders', 'updated_at', 'filter sort'),
      ('customers', 'name', 'searchable sort'),
      ('customers', 'erp_customer_number', 'searchable filter sort title Customer number'),
      ('customers', 'contact_name', 'searchable'),
      ('customers', 'email', 'searchable dataType email'),
      ('customers', 'city', 'searchable facet'),
      ('customers', 'postal_code', 'searchable filter'),
      ('customers', 'region', 'searchable facet'),
      ('customers', 'country', 'searchable facet sort'),
      ('customers', 'currency', 'facet'),
      ('customers', 'vat_number', 'searchable title VAT number'),
      ('customers', 'is_blocked', 'facet'),
      ('customers', 'created_at', 'filter sort'),
      ('customers', 'updated_at', 'filter sort'),
      ('campaigns', 'title', 'searchable sort'),
      ('campaigns', 'note', 'searchable'),
      ('campaigns', 'price', 'searchable'),
      ('campaigns', 'vintage', 'facet sort'),
      ('campaigns', 'color', 'facet dataType hexColor'),
      ('campaigns', 'medium', 'facet'),
      ('campaigns', 'status', 'facet'),
      ('campaigns', 'scheduled_at', 'filter sort'),
      ('campaigns', 'created_at', 'filter sort'),
      ('campaigns', 'updated_at', 'filter sort')
    ) as t(relation, attribute, words)
  loop
    execute format('comment on column %I.%I is %L', v_tag.relation, v_tag.attribute,
      concat_ws(e'\n', '@searchIndex ' || v_tag.words, (
        select col_description(a.attrelid, a.attnum) from pg_attribute a
        where a.attrelid = v_tag.relation::regclass and a.attname = v_tag.attribute
      )));
  end loop;
end;
$$;
