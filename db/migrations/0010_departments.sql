-- Departments: whose colleagues a member of staff sees.
create table departments (
  id uuid primary key default uuidv7(),
  name text not null,
  description text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint departments_name_check check (is_label(name, 80)),
  constraint departments_description_check check (char_length(description) <= 500)
);
create unique index departments_name_key on departments (lower(name));
comment on table departments is '@read departments.read
@update departments.update
@audit Department
@defaultOrder name
A part of the company that members of staff belong to.';
comment on column departments.name is 'Unique, whatever the case of its letters.';
comment on column departments.description is 'What the department does.';
comment on constraint departments_name_check on departments is 'must be 1 to 80 visible characters without spaces at its ends';
comment on constraint departments_description_check on departments is 'must be 500 characters at most';
comment on index departments_name_key is 'A department of this name exists already.';

alter table users add column department_id uuid references departments on delete set null;
-- lint: allow create-index because this release is the first and the table is empty
create index users_department_id_idx on users (department_id);
comment on column users.department_id is 'The department that the user belongs to.';
comment on constraint users_department_id_fkey on users is '@behavior +singularRelation:resource:single';

alter type user_changes add attribute department_id uuid;
comment on column user_changes.department_id is 'The department that the user belongs to from now on; null for none.';
