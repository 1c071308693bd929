/** Five wines to search and page through, with prices and ratings. */
export const wineRows = `
  insert into reviewers (name) values ('Anna Holm'), ('Bo Ek');
  insert into products (erp_product_number, name, vintage, wine_type_id, producer, grape_variety, country, is_active, created_at)
  select v.number, v.name, v.vintage, t.id, v.producer, v.grape, v.country, v.active, v.made::timestamptz
  from (values
    ('0001', 'Château Margaux', 2015, 'Red', 'Château Margaux', 'Cabernet Sauvignon', 'France', true, '2026-01-31T23:59:59.999999Z'),
    ('001', 'Gewürztraminer Réserve', 2016, 'White', 'Trimbach', 'Gewürztraminer', 'france', true, '2026-02-01T00:00:00Z'),
    ('1', '100% Pinot', null, null, 'L''Hermitage', 'Pinot Noir', 'FRANCE', false, '2026-03-01T00:00:00Z'),
    ('AB_C', 'Riesling (Dry)', 2015, 'White', 'Dr. Loosen', 'Riesling', 'Germany', true, '2025-01-01T00:00:00Z'),
    ('ABXC', 'Late Harvest Riesling', 2010, 'Red', null, null, null, true, '2025-01-02T00:00:00Z')
  ) as v(number, name, vintage, type, producer, grape, country, active, made)
  left join wine_types t on t.name = v.type;
  insert into product_prices (product_id, type, currency, amount)
  select p.id, 'retail', c, p.vintage / 10.0 from products p, unnest(array['DKK', 'EUR']) c where p.vintage is not null;
  insert into product_ratings (product_id, reviewer_id, year, points)
  select p.id, r.id, 2020, case r.name when 'Bo Ek' then 95 else 80 end
  from products p, reviewers r where p.vintage = 2015;`;
