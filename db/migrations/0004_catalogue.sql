-- The catalogue: wine types, products with prices, images and ratings, reviewers, and the calls of the product-sync
-- workflow.
create table wine_types (
  id uuid primary key default uuidv7(),
  name text collate display_order not null,
  color text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint wine_types_name_check check (is_label(name, 80)),
  constraint wine_types_color_check check (color ~ '^#[0-9A-F]{6}$')
);
create unique index wine_types_name_key on wine_types (name_key(name));
create index wine_types_words_idx on wine_types using gin (search_text(name) extensions.gin_trgm_ops);
comment on table wine_types is '@group Catalogue 11
@icon glass
@read products.read
@create products.create
@update products.update
@delete products.update
@mutations create update delete
@audit WineType
@defaultOrder name
A type of wine, such as red or sparkling, with its colour.';
comment on column wine_types.name is '@search word
The name of the wine type, unique without regard to case.';
comment on column wine_types.color is '@title Colour
@widget color
The colour of the wine type, as `#RRGGBB`.';
comment on constraint wine_types_name_check on wine_types is
  'must be 1 to 80 visible characters without spaces at its ends';
comment on constraint wine_types_color_check on wine_types is 'must be a colour such as #7A0019';
comment on index wine_types_name_key is 'A wine type of this name exists already.';

create table products (
  id uuid primary key default uuidv7(),
  erp_product_number text collate "C" not null,
  name text collate display_order not null,
  vintage integer,
  wine_type_id uuid references wine_types on delete restrict,
  producer text collate display_order,
  grape_variety text collate display_order,
  country text collate display_order,
  province text collate display_order,
  region text collate display_order,
  description text,
  alcohol_percent numeric(4, 2),
  bottle_size_ml integer,
  stock_quantity integer,
  is_active boolean not null default true,
  source_updated_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  search_words text collate "C" not null
    generated always as (words_text(name, producer, grape_variety, region)) stored,
  constraint products_erp_product_number_key unique (erp_product_number),
  constraint products_erp_product_number_check check (is_label(erp_product_number, 50)),
  constraint products_name_check check (is_label(name, 300)),
  constraint products_vintage_check check (vintage between 1700 and 2200),
  constraint products_producer_check check (char_length(producer) <= 300),
  constraint products_grape_variety_check check (char_length(grape_variety) <= 300),
  constraint products_country_check check (char_length(country) <= 100),
  constraint products_province_check check (char_length(province) <= 200),
  constraint products_region_check check (char_length(region) <= 200),
  constraint products_description_check check (char_length(description) <= 20000),
  constraint products_alcohol_percent_check check (alcohol_percent between 0 and 99.99),
  constraint products_bottle_size_ml_check check (bottle_size_ml between 1 and 30000)
);
-- The default order. A search tests the stored text from this index, in that order, and reads no rows.
create index products_name_idx on products (name, id) include (search_words);
create index products_vintage_idx on products (vintage, id);
create index products_wine_type_id_idx on products (wine_type_id);
create index products_created_at_idx on products (created_at, id);
create index products_updated_at_idx on products (updated_at, id);
create index products_search_idx on products using gin (search_words extensions.gin_trgm_ops);
create index products_country_search_idx on products (search_text(country) text_pattern_ops);
create index products_province_search_idx on products (search_text(province) text_pattern_ops);
-- Products of a vintage are shown by name.
create index products_vintage_name_idx on products (vintage, name, id);
-- Products are counted by country from this index, which is a tenth of the table. It also orders products by country.
create index products_country_idx on products (country, id);
comment on table products is '@group Catalogue 10
@icon bottle
@label name erp_product_number
@searchCollection products
@searchSort name
@mutations create update
@read products.read
@create products.create
@update products.update
@audit Product
@connection
@defaultOrder name
A wine or other article of the catalogue, as recorded in the ERP.';
comment on column products.erp_product_number is '@list 2
@title Number
@searchIndex searchable filter sort title Product number
@search exact
@mutations create
The product number of the ERP, stored byte for byte with leading zeros. It cannot be changed after creation.';
comment on column products.name is '@list 1
@searchIndex searchable sort
@search word
The name of the product.';
comment on column products.vintage is '@list 3
@searchIndex facet sort
The year of the harvest; null for wines without a vintage.';
comment on column products.producer is '@list 5
@section Origin
@searchIndex searchable facet sort
@search word
The producer.';
comment on column products.grape_variety is '@section Origin
@searchIndex searchable facet
@search word
The grape variety or blend.';
comment on column products.country is '@list 6
@section Origin
@searchIndex searchable facet sort
The country of origin.';
comment on column products.province is '@section Origin
@searchIndex searchable facet
The province or wider region of origin.';
comment on column products.region is '@list 7
@section Origin
@searchIndex searchable facet
@search word
The region of origin.';
comment on column products.description is '@widget long
@section Text
@searchIndex searchable
A description for customers.';
comment on column products.alcohol_percent is '@title Alcohol
@unit %
@section Bottle
@searchIndex filter sort
The alcohol by volume, in per cent.';
comment on column products.bottle_size_ml is '@title Bottle size
@unit ml
@section Bottle
@searchIndex facet title Bottle size (ml)
The volume of the bottle, in millilitres.';
comment on column products.stock_quantity is '@list 8
@title Stock
@unit bottles
@section Bottle
@searchIndex filter sort
The number of bottles in stock at the last synchronisation.';
comment on column products.is_active is '@list 9
@title On sale
@searchIndex facet title On sale
Whether the product is on sale.';
comment on column products.source_updated_at is '@title Changed in the ERP
@section Times
@mutations off
When the product last changed in the ERP; null if the ERP does not provide this time.';
comment on column products.created_at is '@section Times
@searchIndex filter sort';
comment on column products.updated_at is '@list 10
@section Times
@searchIndex filter sort';
comment on column products.search_words is '@internal
The normalised text that word searches compare.';
comment on column products.wine_type_id is '@list 4';
comment on constraint products_erp_product_number_key on products is 'A product with this ERP number exists already.';
comment on constraint products_erp_product_number_check on products is
  'must be 1 to 50 printable characters without spaces at its ends';
comment on constraint products_name_check on products is
  'must be 1 to 300 visible characters without spaces at its ends';
comment on constraint products_vintage_check on products is 'must be a year from 1700 to 2200';
comment on constraint products_producer_check on products is 'must be 300 characters at most';
comment on constraint products_grape_variety_check on products is 'must be 300 characters at most';
comment on constraint products_country_check on products is 'must be 100 characters at most';
comment on constraint products_province_check on products is 'must be 200 characters at most';
comment on constraint products_region_check on products is 'must be 200 characters at most';
comment on constraint products_description_check on products is 'must be 20000 characters at most';
comment on constraint products_alcohol_percent_check on products is 'must be from 0 to 99.99';
comment on constraint products_bottle_size_ml_check on products is 'must be from 1 to 30000';
comment on constraint products_wine_type_id_fkey on products is '@searchIndex name searchable facet sort, color filter dataType hexColor
@foreignConnectionFieldName products
@behavior +singularRelation:resource:single +manyRelation:resource:connection';

create table product_prices (
  id uuid primary key default uuidv7(),
  product_id uuid not null references products on delete cascade,
  type text collate "C" not null,
  currency text collate "C" not null,
  amount numeric(14, 2) not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint product_prices_type_currency_key unique (product_id, type, currency),
  constraint product_prices_type_check check (type ~ '^[a-z][a-z0-9_]{0,39}$'),
  constraint product_prices_currency_check check (currency ~ '^[A-Z]{3}$'),
  constraint product_prices_amount_check check (amount between 0 and 999999999.99)
);
create index product_prices_amount_idx on product_prices (amount);
comment on table product_prices is '@read products.read
@create products.update
@update products.update
@delete products.update
@mutations create update delete
@audit ProductPrice
@root off
@label type currency
@defaultOrder type, currency
A price of a product. A product has at most one price for each type and currency.';
comment on column product_prices.product_id is '@mutations create
The product of the price.';
comment on column product_prices.type is 'The type of the price, such as `retail` or `wholesale`.';
comment on column product_prices.currency is 'The ISO 4217 code of the currency, such as `DKK`.';
comment on column product_prices.amount is '@widget money
The price of one bottle, a decimal as text.';
comment on constraint product_prices_type_currency_key on product_prices is
  'The product has a price of this type in this currency already.';
comment on constraint product_prices_type_check on product_prices is
  'must be 1 to 40 of a-z, 0-9 and _, a letter first';
comment on constraint product_prices_currency_check on product_prices is
  'must be a currency code of three capitals, such as DKK';
comment on constraint product_prices_amount_check on product_prices is 'must be a decimal from 0 to 999999999.99';
comment on constraint product_prices_product_id_fkey on product_prices is '@foreignFieldName prices
@behavior +manyRelation:resource:list +singularRelation:resource:single';

create table product_images (
  id uuid primary key default uuidv7(),
  product_id uuid not null references products on delete cascade,
  url text not null,
  alt_text text,
  position integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint product_images_url_key unique (product_id, url),
  constraint product_images_url_check check (url ~ '^https://[^\s<>"]+$' and char_length(url) <= 2000),
  constraint product_images_alt_text_check check (char_length(alt_text) <= 500),
  constraint product_images_url_public_check check (
    -- An address that is not https breaks the other constraint only, so that one message is shown.
    url !~ '^https://'
    or url ~* '^https://([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?\.?(:\d{1,5})?([/?#]|$)'
    and url !~* '^https://([^/?#:]*\.)?(localhost|localdomain|local|internal|intranet|private|corp|home|lan|arpa)\.?([:/?#]|$)'
  )
);
comment on table product_images is '@read products.read
@create products.update
@update products.update
@delete products.update
@mutations create update delete
@audit ProductImage
@root off
@label alt_text url
@defaultOrder position
A picture of a product.';
comment on column product_images.product_id is '@mutations create
The product in the picture.';
comment on column product_images.url is '@widget image
The address of the picture.';
comment on column product_images.alt_text is 'A text that describes the picture.';
comment on column product_images.position is 'The position among the product''s pictures, in ascending order.';
comment on constraint product_images_url_key on product_images is 'The product has this picture already.';
comment on constraint product_images_url_check on product_images is
  'must be an https:// address of 2000 characters at most';
comment on constraint product_images_alt_text_check on product_images is 'must be 500 characters at most';
comment on constraint product_images_url_public_check on product_images is
  'must name a public host: no IP address, no internal name';
comment on constraint product_images_product_id_fkey on product_images is '@foreignFieldName images
@behavior +manyRelation:resource:list +singularRelation:resource:single';

-- The one permission to write reviewers and ratings is `reviewers.create`. A reviewer with ratings cannot be deleted.
create table reviewers (
  id uuid primary key default uuidv7(),
  name text collate display_order not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint reviewers_name_check check (is_label(name, 200))
);
create unique index reviewers_name_key on reviewers (name_key(name));
create index reviewers_words_idx on reviewers using gin (search_text(name) extensions.gin_trgm_ops);
comment on table reviewers is '@group Catalogue 12
@icon star
@read reviewers.read
@create reviewers.create
@update reviewers.create
@delete reviewers.create
@mutations create update delete
@audit Reviewer
@defaultOrder name
A person or guide that rates wines.';
comment on column reviewers.name is '@search word
The name of the reviewer, unique without regard to case.';
comment on constraint reviewers_name_check on reviewers is
  'must be 1 to 200 visible characters without spaces at its ends';
comment on index reviewers_name_key is 'A reviewer of this name exists already.';

create table product_ratings (
  id uuid primary key default uuidv7(),
  product_id uuid not null references products on delete cascade,
  reviewer_id uuid not null references reviewers on delete restrict,
  year integer,
  points numeric(5, 2) not null,
  review text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint product_ratings_reviewer_year_key unique nulls not distinct (product_id, reviewer_id, year),
  constraint product_ratings_year_check check (year between 1700 and 2200),
  constraint product_ratings_points_check check (points between 0 and 100),
  constraint product_ratings_review_check check (char_length(review) <= 20000)
);
create index product_ratings_reviewer_id_idx on product_ratings (reviewer_id);
comment on table product_ratings is '@read reviewers.read
@create reviewers.create
@update reviewers.create
@delete reviewers.create
@mutations create update delete
@audit ProductRating
@root off
@label points year
@defaultOrder year
A reviewer''s rating of a product.';
comment on column product_ratings.product_id is '@mutations create
The rated product.';
comment on column product_ratings.reviewer_id is '@mutations create
The reviewer.';
comment on column product_ratings.year is 'The year of the rating, if known.';
comment on column product_ratings.points is 'The points, from 0 to 100, a decimal as text.';
comment on column product_ratings.review is 'The text of the review.';
comment on constraint product_ratings_reviewer_year_key on product_ratings is
  'The reviewer has rated this product for this year already.';
comment on constraint product_ratings_year_check on product_ratings is 'must be a year from 1700 to 2200';
comment on constraint product_ratings_points_check on product_ratings is 'must be from 0 to 100';
comment on constraint product_ratings_review_check on product_ratings is 'must be 20000 characters at most';
comment on constraint product_ratings_product_id_fkey on product_ratings is '@foreignFieldName ratings
@behavior +manyRelation:resource:list +singularRelation:resource:single';
comment on constraint product_ratings_reviewer_id_fkey on product_ratings is '@foreignConnectionFieldName ratings
@behavior +singularRelation:resource:single +manyRelation:resource:connection';

create table product_sync_runs (
  id uuid primary key default uuidv7(),
  erp_product_numbers text[] not null,
  user_id uuid references users on delete set null,
  api_token_id uuid references api_tokens on delete set null,
  correlation_id text,
  created_at timestamptz not null default now(),
  delivered_at timestamptz,
  constraint product_sync_runs_erp_product_numbers_check check (cardinality(erp_product_numbers) between 1 and 1000)
);
create index product_sync_runs_user_id_idx on product_sync_runs (user_id);
create index product_sync_runs_api_token_id_idx on product_sync_runs (api_token_id);
create index product_sync_runs_created_at_idx on product_sync_runs (created_at);
comment on table product_sync_runs is '@internal
@audit ProductSyncRun id except delivered_at
A call of the product-sync workflow for a list of products.';
