-- Smart tags: the lines `@name value` at the head of a comment. What they declare is read here for the database's side
-- (policies, grants, triggers) and by the server for the API's side, so that nothing is said twice.
create or replace function comment_tags(comment text) returns jsonb as $$
  select coalesce(jsonb_object_agg(tag[1], coalesce(tag[2], '')), '{}')
  from regexp_matches(
    substring(comment_tags.comment from '^(?:@[^\n]*(?:\n|$))*'), '^@(\w+)[ \t]*([^\n]*)$', 'gn'
  ) as tag
$$ language sql immutable;
comment on function comment_tags is 'The smart tags of a comment, name to value.';

create or replace function table_tags(relation regclass) returns jsonb as $$
  select comment_tags(obj_description(table_tags.relation, 'pg_class'))
$$ language sql stable;
comment on function table_tags is 'The smart tags of a table.';
