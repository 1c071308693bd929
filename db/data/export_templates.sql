-- Example templates. Inserted into a new database only; staff change them afterwards.
with wanted (name, description, kind, columns) as (
  values
    ('Price list', 'What is on sale at which price, for customers.', 'TABLE'::export_template_kind, array[
      ['erpProductNumber', 'Number', '14', null], ['name', 'Wine', '44', null], ['vintage', 'Vintage', '9', '0'],
      ['wineType.name', 'Type', '12', null], ['producer', 'Producer', '28', null], ['country', 'Country', '16', null],
      ['region', 'Region', '22', null], ['bottleSizeMl', 'Bottle, ml', '11', '#,##0'],
      ['alcoholPercent', 'Alcohol, %', '11', '0.0'], ['prices.retail.DKK', 'Price, DKK', '12', '#,##0.00']
    ]),
    ('Tasting sheet', 'One wine with its picture, for a tasting.', 'FORM', array[
      ['name', 'Wine', null, null], ['image', 'Picture', null, null], ['vintage', 'Vintage', null, '0'],
      ['wineType.name', 'Type', null, null], ['producer', 'Producer', null, null], ['grapeVariety', 'Grapes', null, null],
      ['country', 'Country', null, null], ['region', 'Region', null, null], ['alcoholPercent', 'Alcohol, %', null, '0.0'],
      ['description', 'Description', null, null], ['ratings.average', 'Average rating', null, '0.0'],
      ['ratings.count', 'Ratings', null, '0'], ['ratings.all', 'All ratings', null, null],
      ['ratings.latest.review', 'Latest review', null, null]
    ]),
    ('Stock and ratings', 'How much there is of what, and how it was rated.', 'TABLE', array[
      ['erpProductNumber', 'Number', '14', null], ['name', 'Wine', '44', null], ['vintage', 'Vintage', '9', '0'],
      ['isActive', 'On sale', '9', null], ['stockQuantity', 'Stock', '9', '#,##0'],
      ['ratings.average', 'Average rating', '14', '0.0'], ['ratings.count', 'Ratings', '9', '0'],
      ['ratings.latest.points', 'Latest rating', '13', '0.0'], ['ratings.latest.year', 'In year', '9', '0'],
      ['ratings.latest.reviewer', 'By', '24', null], ['updatedAt', 'Changed', '18', 'yyyy-mm-dd hh:mm']
    ])
),
made as (
  insert into export_templates (name, description, kind)
  select name, description, kind from wanted where not exists (select from export_templates)
  returning id, name
)
insert into export_template_columns (template_id, position, field, title, width, number_format)
select m.id, i, w.columns[i][1], w.columns[i][2], w.columns[i][3]::numeric, w.columns[i][4]
from made m join wanted w on w.name = m.name, generate_subscripts(w.columns, 1) as i;
