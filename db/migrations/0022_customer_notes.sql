-- Notes of the office about customers, whom only the ERP changes.
create table customer_notes (
  id uuid primary key default uuidv7(),
  customer_id uuid not null references customers on delete cascade,
  body text not null,
  author_user_id uuid references users on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint customer_notes_body_check check (body ~ '\S' and char_length(body) <= 10000)
);
create index customer_notes_created_at_idx on customer_notes (created_at desc, id desc);
create index customer_notes_customer_id_idx on customer_notes (customer_id, created_at desc, id desc);
create index customer_notes_author_user_id_idx on customer_notes (author_user_id);
create index customer_notes_body_search_idx on customer_notes using gin (search_text(body) extensions.gin_trgm_ops);
comment on table customer_notes is '@group Sales 22
@label body created_at
@title Customer notes
@read customers.read
@create customers.update
@update customers.update
@delete customers.update
@mutations create update delete
@audit CustomerNote
@auditReads
@connection
@defaultOrder created_at desc
What the office knows about a customer in addition to the values of the ERP.';
comment on column customer_notes.customer_id is '@list 2
@title Customer
The customer.';
comment on column customer_notes.body is '@personal customer_id
@title Note
@list 1
@widget long
@search word
The text.';
comment on column customer_notes.author_user_id is '@mutations off
@list 3
@title Author
Who wrote the note first; null when the user was deleted.';
comment on column customer_notes.created_at is '@title Written
@list 4';
comment on constraint customer_notes_body_check on customer_notes is 'must be 1 to 10000 characters, not only spaces';
comment on constraint customer_notes_customer_id_fkey on customer_notes is '@forwardBehavior +singularRelation:resource:single
@fieldName customer
@backwardBehavior +manyRelation:resource:connection
@foreignConnectionFieldName notes';
comment on constraint customer_notes_author_user_id_fkey on customer_notes is '@forwardBehavior +singularRelation:resource:single
@fieldName author';
