type Query = (sql: string) => Promise<unknown>;

/**
 * Delays each new job whose key matches the regular expression by a day. Tests use it for scheduled jobs that would
 * change what they look at when a minute begins.
 */
export async function delayJobs(query: Query, keyPattern: string): Promise<void> {
  await query(`
    create function public.delay_job() returns trigger language plpgsql as
      $$ begin new.run_at := now() + interval '1 day'; return new; end $$;
    create trigger delay_job before insert or update on graphile_worker._private_jobs for each row
      when (new.key ~ '${keyPattern}') execute function public.delay_job()`);
}
