-- Hash chains over the audit log. A job seals complete rows in batches; writers are not involved.
create or replace function audit_row_hash(a audit_log) returns bytea as $$
  select sha256(convert_to(jsonb_build_array(
    a.id, a.actor_user_id, a.operation, a.entity_type, a.entity_id, a.correlation_id, a.ip_address, a.user_agent,
    a.before, a.after, a.metadata, extract(epoch from a.created_at)
  )::text, 'UTF8'))
$$ language sql stable;
comment on function audit_row_hash is 'The hash of an audit row, independent of time zone and partition.';

-- The smallest id that `uuidv7()` can return at a moment.
create or replace function first_id_at(moment timestamptz) returns uuid as $$
  select (lpad(to_hex((extract(epoch from first_id_at.moment) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid
$$ language sql immutable;

create or replace function audit_tree_operations(tree text) returns text[] as $$
  select case audit_tree_operations.tree when 'reads' then array['READ'] else array['CREATE', 'UPDATE', 'DELETE'] end
$$ language sql immutable;

create or replace function audit_seal_digest(s audit_seals) returns bytea as $$
  select sha256(convert_to(concat_ws('|',
    'audit seal 1', s.tree, s.position, s.kind, s.from_id, s.to_id, s.row_count, s.row_ids::text, encode(s.rows_digest, 'hex'),
    coalesce(extract(epoch from s.dropped_before)::text, 'none'), extract(epoch from s.sealed_at), encode(s.previous, 'hex')
  ), 'UTF8'))
$$ language sql stable;

create or replace function add_audit_seal(
  tree text, kind text, to_id uuid, row_ids uuid[], row_hashes bytea, dropped_before timestamptz
) returns audit_seals as $$
declare
  v_last audit_seals;
  v_seal audit_seals;
begin
  select * into v_last from audit_seals s where s.tree = add_audit_seal.tree order by s.position desc limit 1;
  v_seal.tree := tree;
  v_seal.position := coalesce(v_last.position, 0) + 1;
  v_seal.kind := kind;
  v_seal.from_id := coalesce(v_last.to_id, '00000000-0000-0000-0000-000000000000');
  v_seal.to_id := coalesce(to_id, v_seal.from_id);
  v_seal.row_count := cardinality(row_ids);
  v_seal.row_ids := row_ids;
  v_seal.row_hashes := row_hashes;
  v_seal.rows_digest := sha256(row_hashes);
  v_seal.dropped_before := dropped_before;
  v_seal.sealed_at := clock_timestamp();
  v_seal.previous := coalesce(v_last.digest, decode(repeat('00', 32), 'hex'));
  v_seal.digest := audit_seal_digest(v_seal);
  insert into audit_seals select v_seal.*;
  return v_seal;
end;
$$ language plpgsql volatile;
comment on function add_audit_seal is 'Adds a link to a chain; the caller must hold the sealing lock.';

-- Rows are ordered by id but become visible in commit order. A mark pairs a moment with the first transaction id that
-- had not begun by then: once all earlier transactions have ended, every row from before that moment is visible. A mark
-- from another cluster (a database restored elsewhere) is ignored, because its transactions cannot be running. `slack`
-- allows for clocks that are set back.
create or replace function seal_audit_log(slack interval default '30 seconds', at_most integer default 2000) returns table (
  tree text, sealed integer, head text, is_full boolean
) as $$
declare
  v_mark audit_seal_marks;
  v_now timestamptz;
  v_bound uuid;
  v_from uuid;
  v_ids uuid[];
  v_hashes bytea;
begin
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.seal_audit_log', 0));
  foreach tree in array array['writes', 'reads'] loop
    select * into v_mark from audit_seal_marks m where m.tree = seal_audit_log.tree;
    sealed := 0;
    is_full := false;
    if found then
      continue when v_mark.next_transaction::xid8 > pg_snapshot_xmin(pg_current_snapshot())
        and v_mark.next_transaction::xid8 <= pg_snapshot_xmax(pg_current_snapshot());
      v_bound := first_id_at(v_mark.marked_at - slack);
      v_from := coalesce(
        (select s.to_id from audit_seals s where s.tree = seal_audit_log.tree order by s.position desc limit 1),
        '00000000-0000-0000-0000-000000000000'
      );
      select coalesce(array_agg(r.id order by r.id), '{}'), coalesce(string_agg(r.hash, ''::bytea order by r.id), ''::bytea)
        into v_ids, v_hashes
      from (
        select a.id, audit_row_hash(a) as hash from audit_log a
        where a.operation = any (audit_tree_operations(seal_audit_log.tree)) and a.id > v_from and a.id <= v_bound
        order by a.id limit at_most
      ) as r;
      sealed := cardinality(v_ids);
      is_full := sealed = at_most;
      if sealed > 0 then
        head := encode((add_audit_seal(
          seal_audit_log.tree, 'SEAL', case when is_full then v_ids[at_most] else v_bound end, v_ids, v_hashes, null
        )).digest, 'hex');
        return next;
      end if;
    end if;
    continue when is_full;
    -- Reads the clock before the transaction id, in a separate statement, so that no earlier writer is missed.
    v_now := clock_timestamp();
    insert into audit_seal_marks (tree, marked_at, next_transaction)
    values (seal_audit_log.tree, v_now, pg_snapshot_xmax(pg_current_snapshot())::text)
    on conflict on constraint audit_seal_marks_pkey do update
      set marked_at = excluded.marked_at, next_transaction = excluded.next_transaction;
  end loop;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function seal_audit_log is
  'Seals one batch of complete rows for each chain; `is_full` when more rows may be left. Never blocks writers.';

create or replace function seal_audit_drop(tree text, dropped_before timestamptz) returns void as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.seal_audit_log', 0));
  perform add_audit_seal(seal_audit_drop.tree, 'DROP', null, '{}', ''::bytea, seal_audit_drop.dropped_before);
end;
$$ language plpgsql volatile;
comment on function seal_audit_drop is 'Records in a chain that retention removed the rows before a moment.';

-- `created_at` is the start of the transaction; the row was written later, by at most the transaction's duration.
create or replace function verify_audit_seal(tree text, "position" bigint) returns table (row_id uuid, problem text) as $$
declare
  v_seal audit_seals;
  v_before audit_seals;
  v_sealed_up_to uuid;
  v_dropped timestamptz;
begin
  select * into v_seal from audit_seals s where s.tree = verify_audit_seal.tree and s.position = verify_audit_seal.position;
  if not found then
    return query select null::uuid, 'the link is missing';
    return;
  end if;
  select * into v_before from audit_seals s
  where s.tree = verify_audit_seal.tree and s.position = verify_audit_seal.position - 1;
  if v_seal.previous <> coalesce(v_before.digest, decode(repeat('00', 32), 'hex'))
    or v_seal.from_id <> coalesce(v_before.to_id, '00000000-0000-0000-0000-000000000000')
  then
    return query select null::uuid, 'the link does not follow from the one before it';
  end if;
  if v_seal.digest <> audit_seal_digest(v_seal) or v_seal.rows_digest <> sha256(v_seal.row_hashes)
    or v_seal.row_count <> cardinality(v_seal.row_ids) or length(v_seal.row_hashes) <> 32 * v_seal.row_count
  then
    return query select null::uuid, 'the link itself was changed';
  end if;
  if v_seal.kind = 'DROP' then
    if v_seal.dropped_before > v_seal.sealed_at - interval '31 days' then
      return query select null::uuid, 'the link lets rows be dropped that retention must keep';
    end if;
    return;
  end if;
  select max(s.dropped_before) into v_dropped from audit_seals s
  where s.tree = verify_audit_seal.tree and s.kind = 'DROP' and s.position > verify_audit_seal.position;
  return query
    with recursive sealed as (
      select i.id, substr(v_seal.row_hashes, 32 * i.n::integer - 31, 32) as hash
      from unnest(v_seal.row_ids) with ordinality as i(id, n)
    ),
    present as (
      select a.id, audit_row_hash(a) as hash, strpos(concat(a.before, a.after), '"[erased]"') > 0 as is_erased
      from audit_log a
      where a.operation = any (audit_tree_operations(verify_audit_seal.tree)) and a.id > v_seal.from_id and a.id <= v_seal.to_id
    ),
    erasures as materialized (
      select d.erasure_id
      from (select distinct e.erasure_id from audit_erasures e where e.audit_log_id = any (v_seal.row_ids)) as d
      where is_recorded_erasure(d.erasure_id)
    ),
    -- Later erasures may have changed the same row again.
    erased (id, hash) as (
      select s.id, s.hash from sealed s where exists (select from erasures)
      union
      select e.audit_log_id, e.hash_after
      from erased d join audit_erasures e on e.audit_log_id = d.id and e.hash_before = d.hash
      where e.erasure_id in (select r.erasure_id from erasures r)
    )
    select coalesce(s.id, p.id),
      case
        when p.id is null then 'the row is missing'
        when s.id is null then 'the row was added afterwards'
        else 'the row was changed'
      end
    from sealed s full join present p on p.id = s.id
    where s.hash is distinct from p.hash
      and not exists (select from erased d where d.id = p.id and d.hash = p.hash and s.id is not null and p.is_erased)
      and not (p.id is null and uuid_extract_timestamp(s.id) < coalesce(v_dropped + interval '1 hour', '-infinity'))
    order by 1;
end;
$$ language plpgsql stable;
comment on function verify_audit_seal is 'Returns missing, changed or added rows of a link, or an error in the link itself; no rows when it is valid.';

create or replace function audit_seal_state() returns table (
  tree text, links bigint, head text, sealed_up_to timestamptz, unsealed bigint, oldest_unsealed timestamptz
) as $$
  select t.tree, coalesce(l.position, 0), encode(l.digest, 'hex'), uuid_extract_timestamp(nullif(l.to_id, '00000000-0000-0000-0000-000000000000')),
    u.count, u.oldest
  from unnest(array['writes', 'reads']) as t(tree)
  left join lateral (
    select s.position, s.digest, s.to_id from audit_seals s where s.tree = t.tree order by s.position desc limit 1
  ) as l on true
  left join lateral (
    select count(*) as count, min(uuid_extract_timestamp(r.id)) as oldest
    from (
      select a.id from audit_log a
      where a.operation = any (audit_tree_operations(t.tree)) and a.id > coalesce(l.to_id, '00000000-0000-0000-0000-000000000000')
      order by a.id limit 100000
    ) as r
  ) as u on true
$$ language sql stable;
comment on function audit_seal_state is 'The last link of each chain and the number of unsealed rows, up to 100,000.';
grant execute on function seal_audit_log to office_worker;
