-- Products and the rows that belong to them.
select ensure_policy('products', 'products_of_campaigns', 'select', 'office_api',
  '(select has_any_permission(''campaigns.read'', ''campaigns.create'', ''campaigns.update'', ''campaigns.delete'')) and exists (select from campaigns c where c.product_id = products.id)');
select ensure_policy('wine_types', 'wine_types_of_campaigns', 'select', 'office_api',
  '(select has_any_permission(''campaigns.read'', ''campaigns.create'', ''campaigns.update'', ''campaigns.delete''))');

-- Runs before the timestamp trigger, so that a change of case only is no change.
create or replace function tg_wine_types__normalize_color() returns trigger as $$
begin
  new.color := upper(new.color);
  return new;
end;
$$ language plpgsql volatile;
comment on function tg_wine_types__normalize_color is 'Stores colours in capitals, like those of campaigns.';
select ensure_trigger('wine_types', '_050_normalize_color',
  'before insert or update of color on %TABLE% for each row execute function tg_wine_types__normalize_color()');
