-- The foreign key says that a product is not there, and which field named it.
drop function if exists campaign_product(uuid);
comment on column campaign_colors.updated_at is 'When a campaign last took the colour, to the second.';
