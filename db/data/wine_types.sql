-- Common wine types. Inserted into a new database only; staff change them afterwards.
insert into wine_types (name, color)
select name, color
from (values
  ('Red', '#7A0019'), ('White', '#E9D77E'), ('Rosé', '#F2A7B5'), ('Sparkling', '#F4E7A1'), ('Dessert', '#C98A1B'),
  ('Fortified', '#5B1F16')
) as t(name, color)
where not exists (select from wine_types);
