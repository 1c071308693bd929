-- Products, prices, images, reviewers and ratings can be created and changed one by one; lists hang on what they belong to.

-- Only added, so that whatever other tags the comment of the table has stay.
-- lint: allow do-block because it only puts a tag before the comment that the table has
do $$ begin
  execute format('comment on table products is %L', '@mutations create update' || E'\n' || obj_description('products'::regclass, 'pg_class'));
end $$;
comment on column products.erp_product_number is '@search exact
@mutations create
The ERP''s number, kept byte for byte, leading zeros included; it stays what the product was made with.';
comment on column products.source_updated_at is '@mutations off
When the ERP last changed the product, as far as it says.';

comment on table product_prices is '@read products.read
@create products.update
@update products.update
@delete products.update
@mutations create update delete
@audit ProductPrice
@root off
@defaultOrder type, currency
A price of a product: one for each type and currency.';
comment on column product_prices.product_id is '@mutations create
The product that the price is for.';
comment on constraint product_prices_type_currency_key on product_prices is 'The product has a price of this type in this currency already.';
comment on constraint product_prices_product_id_fkey on product_prices is '@foreignFieldName prices
@behavior +manyRelation:resource:list +singularRelation:resource:single';

comment on table product_images is '@read products.read
@create products.update
@update products.update
@delete products.update
@mutations create update delete
@audit ProductImage
@root off
@defaultOrder position
A picture of a product.';
comment on column product_images.product_id is '@mutations create
The product that the picture shows.';
comment on constraint product_images_url_key on product_images is 'The product has this picture already.';
comment on constraint product_images_product_id_fkey on product_images is '@foreignFieldName images
@behavior +manyRelation:resource:list +singularRelation:resource:single';
-- What browsers, exports and the search show must not lead inside: no IP address in any notation, no name without a dot, no
-- internal domain.
alter table product_images add constraint product_images_url_public_check check (
  -- What is no https address at all is the other constraint's to refuse, in one message.
  url !~ '^https://'
  or url ~* '^https://([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?\.?(:\d{1,5})?([/?#]|$)'
  and url !~* '^https://([^/?#:]*\.)?(localhost|localdomain|local|internal|intranet|private|corp|home|lan|arpa)\.?([:/?#]|$)'
) not valid;
comment on constraint product_images_url_public_check on product_images is 'must name a public host: no IP address, no internal name';
drop function if exists is_public_address(text);

-- The one permission to write reviewers and ratings is `reviewers.create`. A reviewer who has rated anything cannot be deleted.
comment on table reviewers is '@read reviewers.read
@create reviewers.create
@update reviewers.create
@delete reviewers.create
@mutations create update delete
@audit Reviewer
@defaultOrder name
A person or guide that rates wines.';
comment on table product_ratings is '@read reviewers.read
@create reviewers.create
@update reviewers.create
@delete reviewers.create
@mutations create update delete
@audit ProductRating
@root off
@defaultOrder year
What a reviewer gave a product.';
comment on column product_ratings.product_id is '@mutations create
The product that is rated.';
comment on column product_ratings.reviewer_id is '@mutations create
Who rates it.';
comment on constraint product_ratings_reviewer_year_key on product_ratings is 'The reviewer has rated this product for this year already.';
comment on constraint product_ratings_product_id_fkey on product_ratings is '@foreignFieldName ratings
@behavior +manyRelation:resource:list +singularRelation:resource:single';
comment on constraint product_ratings_reviewer_id_fkey on product_ratings is '@foreignConnectionFieldName ratings
@behavior +singularRelation:resource:single +manyRelation:resource:connection';

-- Lists that can be long are connections.
comment on constraint products_wine_type_id_fkey on products is '@foreignConnectionFieldName products
@behavior +singularRelation:resource:single +manyRelation:resource:connection';
comment on constraint campaigns_product_id_fkey on campaigns is '@foreignConnectionFieldName campaigns
@behavior +singularRelation:resource:single +manyRelation:resource:connection';
comment on constraint campaigns_author_user_id_fkey on campaigns is '@fieldName author
@notNull
@foreignConnectionFieldName campaigns
@behavior +singularRelation:resource:single +manyRelation:resource:connection';
comment on constraint users_department_id_fkey on users is '@foreignConnectionFieldName members
@behavior +singularRelation:resource:single +manyRelation:resource:connection';
comment on constraint invitations_user_id_fkey on invitations is '@behavior +singularRelation:resource:single';
comment on constraint invitations_invited_by_user_id_fkey on invitations is '@fieldName invitedBy
@behavior +singularRelation:resource:single';
