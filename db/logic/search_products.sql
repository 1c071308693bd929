-- Computed fields of products for the search engine. A product has one price per type and currency; lists show and sort
-- by one of them.
create or replace function products_list_price(product products) returns numeric as $$
  select x.amount from product_prices x where x.product_id = product.id and x.type = 'retail' order by x.currency limit 1
$$ language sql stable;
comment on function products_list_price is '@searchIndex filter sort dataType money
@searchFrom product_prices.product_id
The retail price in the first of its currencies.';

create or replace function products_list_price_currency(product products) returns text as $$
  select x.currency from product_prices x where x.product_id = product.id and x.type = 'retail' order by x.currency limit 1
$$ language sql stable;
comment on function products_list_price_currency is '@searchIndex facet
@searchFrom product_prices.product_id
The currency of the retail price.';
