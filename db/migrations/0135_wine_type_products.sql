-- `WineType.products` is served again: 0030 gave the reference its search tag and left out what stood there.
comment on constraint products_wine_type_id_fkey on products is '@searchIndex name searchable facet sort, color filter dataType hexColor
@foreignConnectionFieldName products
@behavior +singularRelation:resource:single +manyRelation:resource:connection';
