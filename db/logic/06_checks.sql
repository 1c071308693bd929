-- Bulk input: converts JSON values and checks the tables' constraints before the insert. Each invalid row gets its own
-- message and does not stop the others.

-- Values arrive as text; an invalid value becomes null, which the checks then report.
create or replace function as_integer(value text) returns integer as $$
  select case
    when as_integer.value ~ '^-?\d{1,10}$' and as_integer.value::bigint between -2147483648 and 2147483647
      then as_integer.value::integer
  end
$$ language sql immutable parallel safe;

create or replace function as_decimal(value text, digits integer) returns numeric as $$
  select case
    when as_decimal.value ~ '^\d{1,20}(\.\d{1,2}0{0,8})?$'
      and char_length(split_part(ltrim(as_decimal.value, '0'), '.', 1)) <= as_decimal.digits
      then as_decimal.value::numeric
  end
$$ language sql immutable parallel safe;
comment on function as_decimal is
  'Converts to a decimal with the given number of digits before the point and at most two after it; null for values that would need rounding.';

create or replace function as_time(value text) returns timestamptz as $$
  select case
    when as_time.value ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)$'
      and pg_input_is_valid(as_time.value, 'timestamptz')
      then as_time.value::timestamptz
  end
$$ language sql stable parallel safe;

create or replace function as_list(value jsonb) returns jsonb as $$
  select case when jsonb_typeof(as_list.value) = 'array' then as_list.value else '[]' end
$$ language sql immutable parallel safe;

-- Reads the table's constraints, so that each rule is written once.
create or replace function check_rules(relation regclass) returns table (attribute text, condition text, message text) as $$
  select a.attname, pg_get_expr(k.conbin, k.conrelid),
    coalesce(regexp_replace(obj_description(k.oid, 'pg_constraint'), '^(@[^\n]*(\n|$))*', ''), 'is not allowed')
  from pg_constraint k join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
  where k.conrelid = check_rules.relation and k.contype = 'c'
  union all
  select a.attname, format('%I is not null', a.attname), 'must be given'
  from pg_attribute a
  where a.attrelid = check_rules.relation and a.attnum > 0 and not a.attisdropped and a.attnotnull
    -- Skips columns with a default: a column added by a later migration is not part of the input.
    and not a.atthasdef and a.attname !~ '(^id|_id|^created_at|^updated_at)$'
$$ language sql stable;
comment on function check_rules is 'The check and not-null constraints of a table, each with its column and message.';

-- Returns the query as text, because PostGraphile cannot introspect a function over `anyarray`.
create or replace function check_query(relation regclass) returns text as $$
  -- Computes messages for invalid rows only, because there are few of them.
  select format(
    'select r.place::integer - 1, k.attribute, case k.message when %1$L then %2$L else %3$L end, k.message
     from unnest($1) with ordinality as r(%4$s, place), lateral (values %5$s) as k(attribute, holds, message)
     where (%6$s) is false and not k.holds',
    'must be given', 'REQUIRED', 'INVALID',
    (
      select string_agg(quote_ident(attname), ', ' order by attnum)
      from pg_attribute where attrelid = check_query.relation and attnum > 0 and not attisdropped
    ),
    string_agg(format('(%L, %s, %L)', c.attribute, c.condition, c.message), ', '),
    string_agg(format('(%s)', c.condition), ' and ')
  )
  from check_rules(check_query.relation) as c
$$ language sql stable;
comment on function check_query is
  'A query over $1, an array of rows: the index (from 0), column, code and message of each violation.';

create or replace function column_message(relation regclass, attribute text, otherwise text) returns text as $$
  select coalesce(
    (select c.message from check_rules(relation) as c where c.attribute = column_message.attribute and c.message <> 'must be given' limit 1),
    otherwise
  )
$$ language sql stable;

-- Rejects decimals that the column would round, and text that is no value of the column's type. PostgreSQL's error names
-- no column. The name tells only the first, because servers of the previous release call it during an upgrade.
create or replace function unrounded(relation regclass, input jsonb) returns jsonb as $$
declare
  v_column text;
  v_rule text;
begin
  for v_column, v_rule in
    select d.name, case
      when not pg_input_is_valid(d.value, d.type) then case
        when d.type = 'numeric' then 'is beyond what a decimal can be'
        when (pg_input_error_info(d.value, d.type)).sql_error_code = '22000' then 'must not end before it starts'
        else 'is not a valid value'
      end
      when d.type <> 'numeric' or d.typmod < 0 then null
      when scale(trim_scale(d.value::numeric)) > d.places then format('can have %s decimal%s at most', d.places, case d.places when 1 then '' else 's' end)
      when abs(d.value::numeric) >= power(10::numeric, d.digits) then format('can have %s digit%s before the point at most', d.digits, case d.digits when 1 then '' else 's' end)
    end
    from (
      select a.attname as name, g.value, b.typmod,
        -- With its length, because `bit` alone has one digit. The digits of a decimal are checked below.
        format_type(b.id, case when b.id <> 'numeric'::regtype then b.typmod end) as type,
        (b.typmod - 4) & 2047 as places, ((b.typmod - 4) >> 16) - ((b.typmod - 4) & 2047) as digits
      from jsonb_each_text(unrounded.input) as g
        join pg_attribute a on a.attrelid = unrounded.relation and a.attname = g.key::name and a.attnum > 0 and not a.attisdropped
        join pg_type t on t.oid = a.atttypid,
        lateral (select case t.typtype when 'd' then t.typbasetype else t.oid end, case t.typtype when 'd' then t.typtypmod else a.atttypmod end)
          as b(id, typmod)
      where g.value is not null
        -- A domain has messages for its checks, and an array or a composite type is JSON.
        and (t.typtype in ('b', 'r') or t.typtype = 'd' and t.typbasetype = 'numeric'::regtype) and t.typcategory not in ('A', 'S') and t.typname not in ('json', 'jsonb')
    ) as d
  loop
    if v_rule is not null then
      perform fail('OF400', camel_case(v_column) || ' ' || v_rule,
        jsonb_build_object('path', jsonb_build_array('input', camel_case(v_column))));
    end if;
  end loop;
  return unrounded.input;
end;
$$ language plpgsql stable;
comment on function unrounded is '@behavior -*
Returns the columns of the input unchanged; fails when a value does not fit its column without rounding.';
grant execute on function unrounded to office_api;

create or replace function given_values(input jsonb, given text[], required text[]) returns jsonb as $$
declare
  v_null text := (select r from unnest(required) as r where r = any (given) and input -> r = 'null' limit 1);
begin
  if v_null is not null then
    perform fail('OF400', camel_case(v_null) || ' cannot be null', jsonb_build_object('path', array['input', camel_case(v_null)]));
  end if;
  return (select coalesce(jsonb_object_agg(i.key, i.value), '{}') from jsonb_each(input) as i where i.key = any (given));
end;
$$ language plpgsql stable;
comment on function given_values is
  'The values of an input that the caller gave, to be put over a row by `jsonb_populate_record`. Fails where a required one is null.';
