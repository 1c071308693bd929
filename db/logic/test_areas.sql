-- The areas of isolated test runs, as the main schema sees them: schemas of the same shape named <main schema>_e2e_<run>.
create or replace function stale_test_areas(unused_for interval) returns setof text as $$
begin
  -- One that nobody recorded, left by a crash while it was made, counts from now on.
  perform office_jobs.touch_area(n.nspname, null)
  from pg_namespace n
  where starts_with(n.nspname, current_schema() || '_e2e_')
    -- Every area that is recorded was used before the end of time.
    and not exists (
      select from office_jobs.stale_areas('-infinity'::interval) as known(area) where known.area = n.nspname
    );
  return query
    select s.area from office_jobs.stale_areas(stale_test_areas.unused_for) as s(area)
    where starts_with(s.area, current_schema() || '_e2e_');
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function stale_test_areas is 'The test areas of this schema that were not used for the given time.';

create or replace function drop_area(area text, unused_for interval default null) returns boolean as $$
begin
  if not starts_with(drop_area.area, current_schema() || '_e2e_') then
    raise exception '% is not the area of a test run of %', drop_area.area, current_schema();
  end if;
  -- The lock of migrateArea: an area is not made and dropped at the same time.
  perform pg_advisory_xact_lock(hashtextextended('migrate ' || drop_area.area, 0));
  if office_jobs.remove_area(drop_area.area) > 0 then
    -- Long ones end by this; the caller asks again.
    if to_regclass(format('%I.export_jobs', drop_area.area)) is not null then
      execute format('update %I.export_jobs set state = ''cancelled'' where state in (''queued'', ''running'')', drop_area.area);
    end if;
    if to_regclass(format('%I.erp_sync_runs', drop_area.area)) is not null then
      execute format(
        'update %I.erp_sync_runs set status = ''CANCELLED'', finished_at = clock_timestamp(), retry_at = null
         where status in (''QUEUED'', ''RUNNING'', ''RETRYING'')', drop_area.area
      );
    end if;
    return false;
  end if;
  if not office_jobs.forget_area(drop_area.area, drop_area.unused_for) and drop_area.unused_for is not null then
    return false;
  end if;
  -- Its files outlive it for a moment: this area's ledger takes them over, to be removed.
  if to_regclass(format('%I.stored_files', drop_area.area)) is not null then
    execute format('insert into stored_files (key) select key from %I.stored_files on conflict do nothing', drop_area.area);
    perform condemn_files(array(
      select f.key from stored_files f where starts_with(f.key, drop_area.area || '/') and f.condemned_at is null));
  end if;
  -- So does what it has in the search engine.
  perform take_over_search(drop_area.area);
  execute format('drop schema if exists %I cascade', drop_area.area);
  return true;
end;
$$ language plpgsql volatile security definer set search_path from current set lock_timeout = '10s';
comment on function drop_area is
  'Drops the area of a test run with its waiting jobs. False, with the area kept, when a job runs in it or it was used within the given time.';

grant execute on function stale_test_areas, drop_area to office_worker;
