-- Tenant schemas of isolated test runs, named <live schema>_e2e_<run>.
create or replace function stale_test_tenants(unused_for interval) returns setof text as $$
begin
  -- A schema without a record, left by a crash during its creation, counts as used now.
  perform office_jobs.touch_tenant(n.nspname, null)
  from pg_namespace n
  where starts_with(n.nspname, current_schema() || '_e2e_')
    -- An interval of -infinity returns all recorded tenants.
    and not exists (
      select from office_jobs.stale_tenants('-infinity'::interval) as known(tenant) where known.tenant = n.nspname
    );
  return query
    select s.tenant from office_jobs.stale_tenants(stale_test_tenants.unused_for) as s(tenant)
    where starts_with(s.tenant, current_schema() || '_e2e_');
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function stale_test_tenants is 'The test tenants of this schema that were not used for the given time.';

create or replace function drop_tenant(tenant text, unused_for interval default null) returns boolean as $$
begin
  if not starts_with(drop_tenant.tenant, current_schema() || '_e2e_') then
    raise exception '% is not the tenant of a test run of %', drop_tenant.tenant, current_schema();
  end if;
  -- The lock of migrateTenant, so that a tenant is not created and dropped at the same time.
  perform pg_advisory_xact_lock(hashtextextended('migrate ' || drop_tenant.tenant, 0));
  if office_jobs.remove_tenant(drop_tenant.tenant) > 0 then
    -- Cancels long jobs; the caller retries.
    if to_regclass(format('%I.export_jobs', drop_tenant.tenant)) is not null then
      execute format('update %I.export_jobs set state = ''cancelled'' where state in (''queued'', ''running'')', drop_tenant.tenant);
    end if;
    if to_regclass(format('%I.erp_sync_runs', drop_tenant.tenant)) is not null then
      execute format(
        'update %I.erp_sync_runs set status = ''CANCELLED'', finished_at = clock_timestamp(), retry_at = null
         where status in (''QUEUED'', ''RUNNING'', ''RETRYING'')', drop_tenant.tenant
      );
    end if;
    return false;
  end if;
  if not office_jobs.unregister_tenant(drop_tenant.tenant, drop_tenant.unused_for) and drop_tenant.unused_for is not null then
    return false;
  end if;
  -- Moves the files of the tenant to this schema's ledger for deletion.
  if to_regclass(format('%I.stored_files', drop_tenant.tenant)) is not null then
    execute format('insert into stored_files (key) select key from %I.stored_files on conflict do nothing', drop_tenant.tenant);
    perform schedule_file_deletion(array(
      select f.key from stored_files f where starts_with(f.key, drop_tenant.tenant || '/') and f.delete_after is null));
  end if;
  -- Likewise for its data in the search engine.
  perform import_search(drop_tenant.tenant);
  execute format('drop schema if exists %I cascade', drop_tenant.tenant);
  return true;
end;
$$ language plpgsql volatile security definer set search_path from current set lock_timeout = '10s';
comment on function drop_tenant is
  'Drops a test tenant with its waiting jobs. Returns false, without a change, while a job is running in it or when it was used within the given time.';

grant execute on function stale_test_tenants, drop_tenant to office_worker;
