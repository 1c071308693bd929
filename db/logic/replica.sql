-- Reads on a replica: how far the primary has come, and whether a replica has come so far.
create or replace function write_mark() returns text as $$
  select format(
    '%s.%s.%s %s',
    (select system_identifier from pg_control_system()), left(pg_walfile_name(come.so_far), 8),
    (select oid from pg_database where datname = current_database()), come.so_far
  )
  from (
    -- Where commits do not wait for the disk, what was told to callers may not be there yet.
    select case when current_setting('synchronous_commit') = 'off'
      then pg_current_wal_insert_lsn() else pg_current_wal_flush_lsn() end as so_far
    where not pg_is_in_recovery()
  ) come
$$ language sql volatile;
comment on function write_mark is
  'The place in the write-ahead log before which every change stands that was committed and told by now, and of which database and timeline it is; null where the database is a replica itself.';

create or replace function behind_mark(mark text) returns numeric as $$
declare
  v_place text := split_part(behind_mark.mark, ' ', 1);
begin
  -- Of a restartpoint and of the least that was replayed, the later one: a replica that follows a new primary says so by either.
  if not pg_is_in_recovery() or v_place is distinct from (
    select format(
      '%s.%s.%s', s.system_identifier, lpad(upper(to_hex(greatest(c.timeline_id, r.min_recovery_end_timeline))), 8, '0'), d.oid
    )
    from pg_control_system() s, pg_control_checkpoint() c, pg_control_recovery() r, pg_database d
    where d.datname = current_database()
  ) then
    raise exception using errcode = 'OFR01', message = 'This is no replica of the database that the mark is of';
  end if;
  return pg_wal_lsn_diff(split_part(behind_mark.mark, ' ', 2)::pg_lsn, pg_last_wal_replay_lsn());
end;
$$ language plpgsql volatile;
comment on function behind_mark is
  'How many bytes of the write-ahead log this replica has yet to replay until it shows all that stands before the mark; 0 or less when it does. Raises OFR01 where it is no replica of the database that the mark is of.';

create or replace function wait_for_mark(mark text, at_most_ms integer) returns void as $$
declare
  v_ends timestamptz := clock_timestamp() + make_interval(secs => wait_for_mark.at_most_ms / 1000.0);
begin
  while behind_mark(wait_for_mark.mark) > 0 loop
    if clock_timestamp() >= v_ends then
      raise exception using errcode = 'OFR02', message = 'This replica has not come to the mark in time';
    end if;
    perform pg_sleep(0.001);
  end loop;
end;
$$ language plpgsql volatile set search_path from current;
comment on function wait_for_mark is
  'Waits until this replica shows all that stands before the mark. What is read by a statement after this one sees it. Raises OFR02 after so many milliseconds.';

grant execute on function write_mark, behind_mark, wait_for_mark to office_server;
