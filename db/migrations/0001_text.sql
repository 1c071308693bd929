-- The rule for names that people read. `normalize_name`, `name_key`, `search_text`, `words_text` and the collation
-- `display_order` are shared by all schemas: db/prepare.sql creates them.
-- lint: allow function-in-migration because check constraints of the tables call it
create function is_label(value text, max_length integer) returns boolean as $$
  select value = btrim(value, E' \t\r\n\u00a0\u3000')
    and char_length(value) between 1 and max_length
    and value !~ '[\u0001-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffc]'
$$ language sql immutable parallel safe;
comment on function is_label is
  'Whether a text is a valid name: not blank, not too long, no spaces at its ends, no invisible or direction-changing characters.';
grant execute on function is_label to office_api;
