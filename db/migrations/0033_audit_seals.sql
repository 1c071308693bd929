-- What makes a change of the audit log visible: batches of its rows are sealed in a chain, in which each link holds the digests of
-- its rows and of the link before.
create table audit_seals (
  tree text not null,
  position bigint not null,
  kind text not null,
  from_id uuid not null,
  to_id uuid not null,
  row_count integer not null,
  row_ids uuid[] not null,
  row_hashes bytea not null,
  rows_digest bytea not null,
  dropped_before timestamptz,
  sealed_at timestamptz not null,
  previous bytea not null,
  digest bytea not null,
  primary key (tree, position),
  constraint audit_seals_tree_check check (tree in ('writes', 'reads')),
  constraint audit_seals_kind_check check (kind in ('SEAL', 'DROP'))
);
comment on table audit_seals is '@internal
@appendOnly
@audit off because it seals the audit log itself
The links of two chains, one of the audit log''s writes and one of its reads.';
comment on column audit_seals.kind is '`SEAL` holds rows; `DROP` says that retention took the rows from before `dropped_before`.';
comment on column audit_seals.from_id is 'The rows of the link have greater ids than this ...';
comment on column audit_seals.to_id is '... and none greater than this.';
comment on column audit_seals.row_hashes is 'SHA-256 of each row, 32 bytes each, in the order of the ids.';
comment on column audit_seals.rows_digest is 'SHA-256 of `row_hashes`.';
comment on column audit_seals.previous is 'The digest of the link before; zeros for the first.';
comment on column audit_seals.digest is 'SHA-256 of all the rest of the link.';

create table audit_seal_marks (
  tree text primary key,
  marked_at timestamptz not null,
  next_transaction text not null,
  constraint audit_seal_marks_tree_check check (tree in ('writes', 'reads'))
);
comment on table audit_seal_marks is '@internal
@audit off because it is the bookkeeping of sealing
For each chain a moment, and the first transaction that had not begun to write at it: when all before that one are over, nothing can come any more that was written before the moment.';
