-- Checks tags: unknown, misplaced, malformed or duplicate ones.

-- The Damerau-Levenshtein distance: insertions, deletions, substitutions and swaps of neighbours.
create or replace function edit_distance(a text, b text) returns integer as $$
declare
  v_before integer[];
  v_last integer[] := array(select generate_series(0, length(b)));
  v_row integer[];
begin
  for i in 1 .. length(a) loop
    v_row := array[i];
    for j in 1 .. length(b) loop
      v_row[j + 1] := least(v_last[j + 1] + 1, v_row[j] + 1, v_last[j] + (substr(a, i, 1) <> substr(b, j, 1))::integer);
      if i > 1 and j > 1 and substr(a, i, 1) = substr(b, j - 1, 1) and substr(a, i - 1, 1) = substr(b, j, 1) then
        v_row[j + 1] := least(v_row[j + 1], v_before[j - 1] + 1);
      end if;
    end loop;
    v_before := v_last;
    v_last := v_row;
  end loop;
  return v_last[length(b) + 1];
end;
$$ language plpgsql immutable strict;

-- Names longer than those of tags, columns and permissions are not compared, because the work is quadratic.
create or replace function nearest_name(name text, names text[]) returns text as $$
  select k.known
  from unnest(nearest_name.names) as k(known), lateral edit_distance(lower(left(nearest_name.name, 63)), lower(k.known)) as d(distance)
  where length(nearest_name.name) <= 63
    and d.distance <= greatest(1, floor(0.4 * least(length(nearest_name.name), length(k.known))))
  order by d.distance, k.known
  limit 1
$$ language sql immutable;
comment on function nearest_name is 'The name most similar to a misspelt one; null when none is similar.';

create or replace function did_you_mean(name text, names text[]) returns text as $$
  select coalesce('; did you mean ' || nearest_name(did_you_mean.name, did_you_mean.names) || '?', '')
$$ language sql immutable;
comment on function did_you_mean is 'The end of a message about a misspelt name; empty when no name is similar.';

-- Most keys end alike, so both parts of a key must be similar, such as `wine.read` to `wines.read` and not to `users.read`.
create or replace function permission_hint(key text, keys text[]) returns text as $$
  select h.text || case h.text when '' then '; insert it' else ' Or insert it' end || ' into `permissions` in a migration'
  from did_you_mean(permission_hint.key, array(
    select k.known from unnest(permission_hint.keys) as k(known)
    where nearest_name(split_part(permission_hint.key, '.', 1), array[split_part(k.known, '.', 1)]) is not null
  )) as h(text)
$$ language sql immutable;
comment on function permission_hint is 'The end of a message about an unknown permission, which may be misspelt or new.';

create or replace function nearest_tag(kind text, tag text) returns text as $$
  select nearest_name(nearest_tag.tag, array_agg(k.tag)) from known_tags() k where k.kind = nearest_tag.kind and k.instead is null
$$ language sql stable;
comment on function nearest_tag is 'The known tag most similar to a misspelt name; null when none is similar.';

-- The pattern of a closed list is `^(a|b|c)$`.
create or replace function tag_value_hint(tag text, value text, form text, pattern text) returns text as $$
  select case
    when with_blanks <> tag_value_hint.value and with_blanks ~ tag_value_hint.pattern
      then '; separate the values by blanks: `@' || tag_value_hint.tag || ' ' || with_blanks || '`'
    when nearest is not null then '; did you mean `@' || tag_value_hint.tag || ' ' || nearest || '`?'
    when tag_value_hint.form ~ '^<' and names is not null then '; write one of ' || array_to_string(names, ', ')
    else '; write `@' || tag_value_hint.tag || rtrim(' ' || tag_value_hint.form) || '`' end
  from regexp_replace(btrim(tag_value_hint.value, ', '), '\s*,\s*', ' ', 'g') as b(with_blanks),
    string_to_array((regexp_match(tag_value_hint.pattern, '^\^\(([\w|]+)\)[$]$'))[1], '|') as l(names),
    nearest_name(tag_value_hint.value, names) as n(nearest)
$$ language sql immutable;
comment on function tag_value_hint is 'The end of a message about a malformed value of a tag: what to write.';

-- The columns of its rows have changed.
drop function if exists commented_objects();
create or replace function commented_objects()
returns table (kind text, name text, relation oid, comment text, object oid, attnum smallint) as $$
  select case when c.relkind in ('r', 'p', 'f') then 'table' when c.relkind in ('v', 'm') then 'view' when c.relkind in ('i', 'I') then 'index' else 'type' end,
    c.oid::regclass::text, c.oid, d.description, c.oid, null::smallint
  from pg_class c join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = c.oid and d.objsubid = 0
  where c.relnamespace = (select current_schema()::regnamespace)
  union all
  select case c.relkind when 'v' then 'column of a view' when 'm' then 'column of a view' when 'c' then 'field of a type' else 'column' end,
    format('%s.%I', c.oid::regclass, a.attname), null, d.description, c.oid, a.attnum
  from pg_class c join pg_attribute a on a.attrelid = c.oid
    join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = c.oid and d.objsubid = a.attnum
  where c.relnamespace = (select current_schema()::regnamespace) and a.attnum > 0
  union all
  select case k.contype when 'f' then 'foreign key' else 'constraint' end, concat(k.conname, ' on ' || nullif(k.conrelid, 0)::regclass), null,
    d.description, k.oid, null
  from pg_constraint k join pg_description d on d.classoid = 'pg_constraint'::regclass and d.objoid = k.oid
  where k.connamespace = (select current_schema()::regnamespace)
  union all
  select 'function', p.oid::regprocedure::text, null, d.description, p.oid, null
  from pg_proc p join pg_description d on d.classoid = 'pg_proc'::regclass and d.objoid = p.oid
  where p.pronamespace = (select current_schema()::regnamespace)
  union all
  select 'type', t.oid::regtype::text, null, d.description, t.oid, null
  from pg_type t join pg_description d on d.classoid = 'pg_type'::regclass and d.objoid = t.oid
  where t.typnamespace = (select current_schema()::regnamespace)
$$ language sql stable;
comment on function commented_objects is
  'All objects whose comments can have tags, or are mistaken for such; `attnum` is that of a column of the object.';

create or replace function tag_violations() returns setof text as $$
  with lines as materialized (
    select o.kind, o.name, o.relation, o.object, o.attnum, l.line, coalesce(l.place <= h.size, false) as is_head, t.tag,
      btrim(substr(l.line, length(t.tag) + 2), e' \t') as value
    from commented_objects() o,
      lateral cardinality(string_to_array(substring(o.comment from '^@[^\n]*(?:\n@[^\n]*)*'), e'\n')) as h(size),
      string_to_table(o.comment, e'\n') with ordinality as l(line, place),
      lateral substring(l.line from '^@([a-zA-Z]\w*)(?:[ \t]|$)') as t(tag)
    where strpos(o.comment, '@') > 0 and strpos(l.line, '@') > 0
  ),
  -- A foreign key in a view's tag has its own tags after `|`.
  tags as materialized (
    select 'comment of ' || kind || ' ' || name as what, kind, relation, object, attnum, false as is_of_view, tag, value
    from lines where is_head and tag is not null
    union all
    select 'comment of view ' || name || ', ' || split_part(line, '|', 1), 'foreign key', null, null, null, true, (regexp_match(inner_tag, '^@?(\w+)'))[1],
      btrim(regexp_replace(inner_tag, '^@?\w+', ''))
    from lines, string_to_table(line, '|') with ordinality as p(inner_tag, place)
    where is_head and kind = 'view' and tag = 'foreignKey' and p.place > 1 and inner_tag ~ '^@?\w'
  ),
  -- Sorted by tag, because PostgreSQL keeps few compiled patterns.
  checked as materialized (
    select t.*, k.kind as known_kind, k.value as form, k.pattern, t.value ~ k.pattern as is_valid, k.instead,
      count(*) over (partition by t.tag, t.what) > 1 and not k.repeats as is_twice,
      row_number() over (partition by t.tag, t.what) as place
    from tags t left join known_tags() k
      on k.tag = t.tag and k.kind = case when t.is_of_view and t.tag = 'searchIndex' then 'view' else t.kind end
  )
  select 'comment of ' || kind || ' ' || name || ': the line "' || left(btrim(line, e'\r'), 60) || '" '
      || case when line ~ '\r$' then 'ends in a carriage return; save the file with line feeds alone'
        else 'is no tag; write tags as lines `@name value` before all other text' end
    from lines where line ~ '^\s*@' and (tag is null or not is_head or line ~ '\r$')
  union all
  select what || ': unknown tag @' || case when length(tag) > 40 then left(tag, 40) || '…' else tag end || coalesce(
      '; did you mean @' || nearest_tag(kind, tag) || '?',
      (select '; @' || checked.tag || ' is for ' || string_agg('a ' || k.kind, ' or ' order by k.kind) from known_tags() k
        where k.tag = checked.tag and k.instead is null having count(*) > 0),
      (select '; a ' || min(k.kind) || ' can have ' || string_agg('@' || k.tag, ', ' order by k.tag) from known_tags() k
        where k.kind = checked.kind and k.instead is null having count(*) > 0),
      '; a comment like this has no tags')
    from checked where known_kind is null
  union all
  select what || ': the tag @' || tag || ' is not for a ' || known_kind || '; ' || instead from checked where instead is not null and place = 1
  union all
  select what || ': the tag @' || tag || ' is used ' || count(*) || ' times; write it once' from checked where is_twice group by what, tag
  union all
  select what || ': the tag @' || tag || case when form = '' then ' takes no value, and has "' || left(value, 60) || '"'
      when value = '' then ' has no value' else ' is "' || left(value, 60) || '"' end || tag_value_hint(tag, value, form, pattern)
    from checked where instead is null and not is_valid
  union all
  -- With several keys, a policy would accept any of them and a root field would require all of them.
  select what || ': the tag @' || tag || ' names several permissions, and a table takes one; write `@' || tag || ' ' || (regexp_match(value, '^[\w.]+'))[1] || '`'
      || case tag when 'read' then ', and show its rows to holders of another by `ensure_policy` in a file of `logic`' else '' end
    from checked where kind = 'table' and tag in ('read', 'create', 'update', 'delete') and is_valid and value ~ '[\s,]'
  union all
  select t.what || ': the tag @' || t.tag || ' names the column ' || c.name || ', which does not exist'
      || did_you_mean(c.name, (select array_agg(a.attname::text) from pg_attribute a
        where a.attrelid = t.relation and a.attnum > 0 and not a.attisdropped))
    from checked t, lateral (
      select regexp_split_to_table(t.value, '[\s,]+') where t.tag in ('owner', 'label', 'primaryKey', 'unique')
      union all
      select n from regexp_match(t.value, '^\w+(?:\s+(?!except\y)(\w+))?(?:\s+except\s+(.+))?$') as m,
        lateral (select m[1] union all select regexp_split_to_table(m[2], '\s+')) as l(n)
      where t.tag = 'audit' and t.value !~ '^off\y' and n is not null
    ) as c(name)
    where t.relation is not null and t.instead is null and t.is_valid and not exists (
      select from pg_attribute a where a.attrelid = t.relation and a.attname = c.name and a.attnum > 0 and not a.attisdropped)
      and not (t.tag = 'label' and exists (
        select from pg_proc f join pg_class r on r.oid = t.relation
        where f.pronamespace = r.relnamespace and f.proname = r.relname || '_' || c.name and f.proargtypes[0] = r.reltype
          and comment_tags(obj_description(f.oid, 'pg_proc')) ? 'computed'))
  union all
  select t.what || ': the tag @label names the column ' || c.name || ', which the API hides'
    from checked t, regexp_split_to_table(t.value, '[\s,]+') as c(name)
    where t.tag = 'label' and t.is_valid and (
      select comment_tags(d.description) ?| array['internal', 'secret']
      from pg_attribute a join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = a.attrelid and d.objsubid = a.attnum
      where a.attrelid = t.relation and a.attname = c.name and a.attnum > 0 and not a.attisdropped)
  union all
  -- The description of a misspelt argument would be lost.
  select t.what || ': the tag @argument names ' || n.name || ', which is no parameter of the function' || coalesce(
      '; did you mean ' || nearest_name(n.name, p.names) || '?', '; its parameters are ' || array_to_string(p.names, ', '), '')
    from checked t
      join pg_proc f on f.oid = t.object
      cross join lateral substring(t.value from '^\w+') as n(name)
      cross join lateral (
        select array_agg(a.name order by a.place) as names
        from unnest(f.proargnames) with ordinality as a(name, place)
        where a.name <> '' and coalesce(f.proargmodes[a.place], 'i') in ('i', 'b', 'v')
      ) as p
    where t.tag = 'argument' and t.known_kind = 'function' and n.name <> all (coalesce(p.names, '{}'))
  union all
  select t.what || ': the tag @' || t.tag || ' names the unknown permission ' || k.key
      || permission_hint(k.key, (select array_agg(p.key) from permissions p))
    from checked t, regexp_split_to_table(t.value, '[\s,]+') as k(key)
    where t.tag in ('scopedRead', 'forwardScopedRead') and t.is_valid and k.key not in (select p.key from permissions p)
  union all
  -- The caller is compared with the owner.
  select t.what || ': the tag @owner names ' || a.attname || ', which references ' || coalesce(k.confrelid::regclass::text, 'nothing')
      || ' and not ' || o.referenced
    from checked t
      cross join lateral unnest(regexp_split_to_array(t.value, '[\s,]+'), array['users', 'api_tokens']) as o(name, referenced)
      join pg_attribute a on a.attrelid = t.relation and a.attname = o.name
      left join pg_constraint k on k.conrelid = a.attrelid and k.contype = 'f' and k.conkey = array[a.attnum]
      left join pg_class r on r.oid = k.confrelid
    where t.tag = 'owner' and t.is_valid and r.relname is distinct from o.referenced
  union all
  select t.what || ': the tag @owner names ' || a.attname || ', ' || case
      when a.attgenerated <> '' then 'a generated column; a row belongs to its caller, so write a plain column'
      when a.atthasdef then 'which has a default; a row belongs to its caller, so drop the default'
      when a.atttypid <> 'uuid'::regtype then 'which is ' || format_type(a.atttypid, null) || '; it needs the type uuid'
      when c.tags ? 'secret' then 'which has the tag @secret; callers see whose rows they have, so remove one of them'
      else 'whose values the audit log must have under its own name; remove the tag @auditName and the `except` of @audit' end
    from checked t
      cross join lateral regexp_split_to_table(t.value, '[\s,]+') as o(name)
      join pg_attribute a on a.attrelid = t.relation and a.attname = o.name,
      lateral comment_tags(col_description(a.attrelid, a.attnum)) as c(tags)
    where t.tag = 'owner' and t.is_valid
      and exists (select from pg_constraint k where k.conrelid = a.attrelid and k.contype = 'f' and k.conkey = array[a.attnum]) and (
      a.atthasdef or a.atttypid <> 'uuid'::regtype or c.tags ?| array['secret', 'auditName']
      or a.attname = any (regexp_split_to_array(substring(table_tags(t.relation) ->> 'audit' from '\yexcept\s+(.+)$'), '[\s,]+')))
  union all
  select t.what || ': the tag @' || t.tag || case t.tag when 'widget' then ' ' || t.value else '' end || ' is for numbers, and the column is '
      || format_type(a.atttypid, null)
    from checked t
      join pg_attribute a on a.attrelid = t.object and a.attnum = t.attnum
      join pg_type y on y.oid = a.atttypid left join pg_type e on e.oid = y.typelem and y.typcategory = 'A'
    where (t.tag = 'unit' or t.tag = 'widget' and t.value in ('money', 'percent')) and t.is_valid and coalesce(e.typcategory, y.typcategory) <> 'N'
  union all
  -- The console looks the value of a row up among these tags.
  select t.what || ': the tag @tone names ' || v.value || ', and ' || case when e.names is null then 'the column is no enumeration'
      else 'the values are ' || e.names end
    from checked t
      join pg_attribute a on a.attrelid = t.object and a.attnum = t.attnum
      cross join lateral split_part(t.value, ' ', 1) as v(value)
      cross join lateral (
        select string_agg(upper(enumlabel), ', ' order by enumsortorder) as names, bool_or(upper(enumlabel) = v.value) as is_known
        from pg_enum where enumtypid = a.atttypid) as e
    where t.tag = 'tone' and t.is_valid and e.is_known is not true
  union all
  -- Only the data of users and customers is erased.
  select t.what || ': the tag @personal ' || case when t.value = '' then 'names no reference; write `@personal <column>` with the column that references users or customers'
      else 'names ' || g.reference || ', which references neither users nor customers' end
    from checked t
      join pg_attribute a on a.attrelid = t.object and a.attnum = t.attnum
      cross join lateral (select array_agg(c.oid) as ids from pg_class c
        where c.relnamespace = (select current_schema()::regnamespace) and c.relname in ('users', 'customers')) as subjects
      cross join lateral substring(t.value from '^\w+') as g(reference)
    where t.tag = 'personal' and t.is_valid and case when t.value = '' then a.attrelid <> all (subjects.ids)
      else not exists (
        select from pg_constraint k join pg_attribute r on r.attrelid = k.conrelid and r.attnum = k.conkey[1]
        where k.conrelid = a.attrelid and k.contype = 'f' and cardinality(k.conkey) = 1 and r.attname = g.reference
          and k.confrelid = any (subjects.ids)) end
  union all
  -- A required enumeration takes the value of the tag.
  select t.what || ': the tag @personal ' || case
      when g.instead is null then 'is for a text or a column that can be empty; this one is required and ' || format_type(a.atttypid, null)
        || coalesce(': write `@personal <column> <value>` with one of ' || e.labels, '')
      when e.labels is null then 'names the value ' || g.instead || ', which only a text or an enumeration takes'
      else 'names the value ' || g.instead || ', and the values are ' || e.labels end
    from checked t join pg_attribute a on a.attrelid = t.object and a.attnum = t.attnum
      cross join lateral substring(t.value from '^\w+ (.+)$') as g(instead)
      cross join lateral (
        select string_agg(enumlabel, ', ' order by enumsortorder) as labels, bool_or(enumlabel = g.instead) as is_known
        from pg_enum where enumtypid = a.atttypid) as e
    where t.tag = 'personal' and t.is_valid and a.atttypid <> 'text'::regtype and e.is_known is not true
      and (g.instead is not null or a.attnotnull)
  union all
  select 'comments of foreign keys ' || string_agg(k.conname || ' on ' || k.conrelid::regclass, ' and ' order by k.conname) || ': have the same @foreignFieldName '
      || t.value || ' of ' || k.confrelid::regclass || '; give each its own'
    from checked t
      join pg_constraint k on k.oid = t.object
    where t.tag = 'foreignFieldName' and t.is_valid group by k.confrelid, t.value having count(*) > 1
  union all
  -- PostGraphile shows one row where a unique constraint covers the reference, and a list otherwise. An index does not count.
  select t.what || ': the tag @backwardBehavior shows nothing, because ' || case when u.is_unique
      then 'a unique constraint allows one row only; write `@backwardBehavior +singularRelation:resource:single`'
      else format('no unique constraint allows one row only; add `alter table %s add unique (%s)`, or write `@backwardBehavior +manyRelation:resource:list`',
        k.conrelid::regclass, u.columns) end
    from checked t
      join pg_constraint k on k.oid = t.object
      cross join lateral (
        select exists (select from pg_constraint c where c.conrelid = k.conrelid and c.contype in ('u', 'p') and c.conkey <@ k.conkey),
          (select string_agg(quote_ident(a.attname), ', ' order by r.place) from unnest(k.conkey) with ordinality as r(attnum, place)
            join pg_attribute a on a.attrelid = k.conrelid and a.attnum = r.attnum)) as u(is_unique, columns)
    where t.tag = 'backwardBehavior' and t.is_valid
      and t.value ~ case when u.is_unique then '\+manyRelation' else '\+singularRelation' end
      and t.value !~ case when u.is_unique then '\+singularRelation' else '\+manyRelation' end
  order by 1
$$ language sql stable security definer set search_path from current;
comment on function tag_violations is 'Unknown, misplaced, malformed or duplicate tags.';
