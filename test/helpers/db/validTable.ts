/** A table and a function without violations; each test adds one. */
export const validTable = `
  set local role office_owner;
  create table planted (
    id uuid primary key default uuidv7(),
    product_id uuid references products on delete cascade,
    note text,
    constraint planted_note_check check (note <> '')
  );
  create index planted_product_id_idx on planted (product_id);
  comment on table planted is '@read products.read
@create products.create
@update products.update
@delete products.update
@mutations create update delete
@audit Planted
A table of the test.';
  comment on column planted.note is 'A note.';
  comment on constraint planted_note_check on planted is 'must not be empty';
  select protect_table('planted');
  create function planted_things(note text) returns text as $$ select planted_things.note $$
    language sql stable security definer set search_path from current;
  comment on function planted_things is '@guard products.read
A function of the test.';
  grant execute on function planted_things to office_api;`;

/** Statements that violate rules, and the expected messages. */
export interface ViolationCase {
  what: string;
  sql: string;
  violations: unknown[];
}

/** Creates another policy on the table. */
export const policy = (definition: string) => `create policy planted_bad on planted ${definition}`;
