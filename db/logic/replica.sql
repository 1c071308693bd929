-- Reads on a replica: the write position of the primary, and whether a replica has reached it.
create or replace function write_mark() returns text as $$
  select format(
    '%s.%s.%s %s',
    (select system_identifier from pg_control_system()), left(pg_walfile_name(come.so_far), 8),
    (select oid from pg_database where datname = current_database()), come.so_far
  )
  from (
    -- With asynchronous commit, confirmed changes may not be flushed yet.
    select case when current_setting('synchronous_commit') = 'off'
      then pg_current_wal_insert_lsn() else pg_current_wal_flush_lsn() end as so_far
    where not pg_is_in_recovery()
  ) come
$$ language sql volatile;
comment on function write_mark is
  'The current position in the write-ahead log, with its database and timeline; null on a replica. It covers all confirmed changes.';

create or replace function behind_mark(mark text) returns numeric as $$
declare
  v_place text := split_part(behind_mark.mark, ' ', 1);
begin
  -- The later of the restart point and the minimum replay position, because a replica of a new primary advances either
  -- of them.
  if not pg_is_in_recovery() or v_place is distinct from (
    select format(
      '%s.%s.%s', s.system_identifier, lpad(upper(to_hex(greatest(c.timeline_id, r.min_recovery_end_timeline))), 8, '0'), d.oid
    )
    from pg_control_system() s, pg_control_checkpoint() c, pg_control_recovery() r, pg_database d
    where d.datname = current_database()
  ) then
    raise exception using errcode = 'OFR01', message = 'This is not a replica of the database of the mark';
  end if;
  return pg_wal_lsn_diff(split_part(behind_mark.mark, ' ', 2)::pg_lsn, pg_last_wal_replay_lsn());
end;
$$ language plpgsql volatile;
comment on function behind_mark is
  'How many bytes of write-ahead log this replica must replay to reach the mark; 0 or less when it has. Raises OFR01 when the mark belongs to another database.';

create or replace function wait_for_mark(mark text, at_most_ms integer) returns void as $$
declare
  v_ends timestamptz := clock_timestamp() + make_interval(secs => wait_for_mark.at_most_ms / 1000.0);
begin
  while behind_mark(wait_for_mark.mark) > 0 loop
    if clock_timestamp() >= v_ends then
      raise exception using errcode = 'OFR02', message = 'This replica did not reach the mark in time';
    end if;
    perform pg_sleep(0.001);
  end loop;
end;
$$ language plpgsql volatile set search_path from current;
comment on function wait_for_mark is
  'Waits until this replica has reached the mark; later statements see the changes. Raises OFR02 after the given milliseconds.';

grant execute on function write_mark, behind_mark, wait_for_mark to office_server;
