import type pg from "pg";
import { fillTables, rowsWanted } from "./fillTables.ts";

/** The caller of the matrix: rows that name this id, or the id of its role, are the caller's own. */
export const own = {
  user: "00000000-0000-7000-8000-0000000000a1",
  role: "00000000-0000-7000-8000-0000000000a2",
} as const;

const other = {
  user: "00000000-0000-7000-8000-0000000000b1",
  role: "00000000-0000-7000-8000-0000000000b2",
} as const;
/** An active user who shares a department with another; the caller of the matrix is in none. */
export const colleague = "00000000-0000-7000-8000-0000000000c1";

const department = "00000000-0000-7000-8000-00000000d001";

/**
 * Rows that let the matrix distinguish no access, access to own rows and full access: rows of the caller, where the
 * table records an owner, and rows of others. Other tables get generated rows ({@link fillTables}).
 */
const rows = `
  insert into departments (id, name) values ('${department}', 'One'), ('00000000-0000-7000-8000-00000000d002', 'Two');
  insert into users (id, email, is_active, department_id) values
    ('${own.user}', 'own@example.com', true, null),
    ('${other.user}', 'other@example.com', true, '${department}'),
    ('${colleague}', 'colleague@example.com', true, '${department}'),
    ('00000000-0000-7000-8000-0000000000c2', 'inactive@example.com', false, '${department}');
  insert into roles (id, name) values ('${own.role}', 'Own role'), ('${other.role}', 'Other role');
  insert into role_permissions (role_id, permission_id)
  select r, p.id from unnest(array['${own.role}', '${other.role}']::uuid[]) r, permissions p where p.key = 'ai.use';
  insert into user_roles (user_id, role_id) values ('${own.user}', '${own.role}'), ('${other.user}', '${other.role}');
  insert into invitations (user_id, email, role_id, expires_at) values
    ('${own.user}', 'own@example.com', '${own.role}', now()), ('${other.user}', 'other@example.com', '${other.role}', now());
  insert into sessions (user_id, token_hash, idle_expires_at, expires_at) values
    ('${own.user}', 'a', now(), now()), ('${other.user}', 'b', now(), now());
  insert into user_identities (user_id, issuer, subject, email) values
    ('${own.user}', 'https://id.example', '1', 'own@example.com'), ('${other.user}', 'https://id.example', '2', 'other@example.com');
  insert into api_tokens (user_id, name, token_hash, is_scoped, expires_at, created_by_user_id) values
    ('${own.user}', 'Own', 'a', false, now(), '${own.user}'), ('${other.user}', 'Other', 'b', false, now(), '${other.user}');
  insert into calendar_feeds (user_id, name, token_hash) values ('${own.user}', 'Own', 'a'), ('${other.user}', 'Other', 'b');
  insert into search_watches (user_id, name, entity, query, table_name, statement, statement_values, seen_statement, ids_at)
  select u::uuid, 'Barolo', 'products', 'barolo', 'nothing', 'select 1', '[]', 'select 1', 0 from unnest(array['${own.user}', '${other.user}']) u;
  insert into login_attempts (state_hash, browser_hash, provider, nonce, pkce_verifier, return_to, expires_at)
  select s::bytea, 'b', 'p', 'n', 'v', '/', now() from unnest(array['a', 'b']) s;
  insert into attempt_counts (step, subject_kind, subject_hash, started_at, attempts)
  select 'devLogin', 'address', s::bytea, now(), 1 from unnest(array['a', 'b']) s;
  insert into login_codes (code_hash, user_id, provider, return_to, expires_at) values
    ('a', '${own.user}', 'p', '/', now()), ('b', '${other.user}', 'p', '/', now());
  insert into jobs (kind, max_attempts, user_id, queue_job_id, input) values
    ('product_sync', 12, '${own.user}', 1, '{}'), ('product_sync', 12, '${other.user}', 2, '{}');
  insert into ai_conversations (id, user_id, title) values
    ('own-conversation', '${own.user}', 'Own'), ('other-conversation', '${other.user}', 'Other');
  insert into ai_messages (conversation_id, id, user_id, position, role, parts)
  select id, 'm', user_id, 1, 'user', '[]' from ai_conversations;
  insert into ai_answers (conversation_id, user_id, message_id) select id, user_id, 'a' from ai_conversations;
  insert into ai_answer_chunks (answer_id, number, chunks) select id, 0, '[]' from ai_answers;
  insert into ai_approvals (conversation_id, user_id, tool_call_id, tool, summary, operation, variables, expires_at)
  select id, user_id, 't', 'create_campaign', 'A campaign', 'mutation { a }', '{}', now() from ai_conversations;
  insert into ai_attachments (user_id, conversation_id, file_name, media_type, file_size, file_sha256, file_key)
  select user_id, id, 'a.csv', 'text/csv', 1, 'a', id from ai_conversations;
  insert into ai_usage (user_id, day) values ('${own.user}', now()), ('${other.user}', now());
  insert into product_sync_runs (erp_product_numbers, user_id) values
    ('{1}', '${own.user}'), ('{2}', '${other.user}');

  insert into saved_views (user_id, name, entity) values
    ('${own.user}', 'Own', 'products'), ('${other.user}', 'Other', 'products');

  insert into idempotency_keys (principal, key_hash, request_hash, permissions) values
    ('user:${own.user}', 'a', 'a', '{}'), ('user:${other.user}', 'b', 'b', '{}');

  insert into products (id, erp_product_number, name, wine_type_id)
  select '00000000-0000-7000-8000-00000000e001'::uuid, '1', 'In a campaign', id from wine_types where name = 'Red'
  union all
  select '00000000-0000-7000-8000-00000000e002', '2', 'In none', id from wine_types where name = 'White';
  insert into product_prices (product_id, type, currency, amount) select id, 'retail', 'DKK', 1 from products;
  insert into product_images (product_id, url) select id, 'https://example.com/' || erp_product_number from products;
  insert into reviewers (name) values ('One'), ('Two');
  insert into product_ratings (product_id, reviewer_id, points) select p.id, r.id, 90 from products p, reviewers r;

  insert into campaigns (product_id, title, price, color, author_user_id, medium, scheduled_at) values
    ('00000000-0000-7000-8000-00000000e001', 'Own', '1', '#AA0000', '${own.user}', 'EMAIL', now()),
    (null, 'Other', '1', '#00AA00', '${other.user}', 'EMAIL', now());

  insert into customers (erp_customer_number, name) values ('1', 'One'), ('2', 'Two');
  insert into orders (erp_order_number, customer_id, placed_at)
  select n, c.id, now() from customers c, unnest(array['Understood', 'Not understood']) n where c.erp_customer_number = '1';
  insert into order_lines (order_id, line_number) select id, 10000 from orders;
  insert into order_import_issues (order_id, kind, code, key, message)
  select id, k, 'line_kind.unmapped', k::text, 'No rule' from orders, unnest(enum_range(null::order_import_issue_kind)) k
  where erp_order_number = 'Not understood';

  delete from erp_mapping_rules; delete from erp_mapping_targets;
  insert into erp_mapping_targets (code, value, title) select 'currency.unmapped', v, v from unnest(array['DKK', 'EUR']) v;
  insert into erp_mapping_rules (code, key, target) values ('currency.unmapped', 'KR', 'DKK'), ('currency.unmapped', '€', 'EUR');
  insert into erp_sync_runs (kind, status, requested_by_user_id) values
    ('IMPORT', 'SUCCEEDED', '${own.user}'), ('RECHECK', 'SUCCEEDED', '${other.user}');
  insert into erp_import_failures (record, message, first_seen_at, last_seen_at)
  select r, 'Illegible', now(), now() from unnest(array['order 1', 'order 2']) r;
  insert into export_workbooks (kind, file_name, file_size, file_sha256, file_key, fields, uploaded_by_user_id)
  select 'TABLE', k || '.xlsx', 1, 'a', k, '{name}', '${own.user}' from unnest(array['a', 'b']) k;
  insert into export_jobs (user_id, token_id, source, total_rows)
  select u::uuid, t.id, 'Price list', 1 from unnest(array['${own.user}', '${other.user}']) u
    cross join (select id from api_tokens union all select null) t;
  insert into export_job_products (job_id, product_ids) select id, '{}' from export_jobs;
  insert into export_slots (queue_job_id, user_id) values (1, '${own.user}'), (2, '${other.user}');
  insert into stored_files (key) values ('a'), ('b');

  insert into search_indexes (collection) values ('one'), ('two');
  insert into search_failures (collection, document_id, message) select c, uuidv7(), 'Too long' from unnest(array['one', 'two']) c;
  insert into search_keys (mark, generation, collections, engine_id) values ('a', 0, '{one}', 1), ('a', 0, '{two}', 2);
  insert into search_generations (generation) values (1), (2);
  insert into search_leftovers (kind, name) values ('alias', 'one'), ('alias', 'two');

  insert into audit_seals (tree, position, kind, from_id, to_id, row_count, row_ids, row_hashes, rows_digest, sealed_at, previous, digest)
  select 'writes', n, 'SEAL', '${own.user}', '${other.user}', 0, '{}', '', '', now(), '', '' from generate_series(1, 2) n;
  insert into audit_seal_marks (tree, marked_at, next_transaction) select t, now(), '1' from unnest(array['writes', 'reads']) t;
  insert into audit_log (actor_user_id, operation, entity_type)
  select u::uuid, o, 'Thing' from unnest(array['${own.user}', '${other.user}']) u, unnest(array['READ', 'UPDATE']) o;

  insert into office_jobs.workers (id, silence) values ('worker', '1 minute'), ('another', '1 minute');
  insert into office_jobs.tenants (tenant) values ('one'), ('two');
  select office_jobs.add('nothing', '{}', run_at => now() + interval '1 day') from generate_series(1, 2);
`;

/** Adds two rows to every table, in the client's transaction. @throws FillError */
export async function seedTables(client: pg.ClientBase): Promise<void> {
  await client.query(rows);
  await fillTables(client, await findEmptyTables(client));
}

/** Seeds a database in one transaction and commits it. */
export async function seedDatabase(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    await seedTables(client);
    await client.query("commit");
  } finally {
    client.release(true);
  }
}

/** The tables of this schema, partitions aside, that have fewer rows than they need. */
async function findEmptyTables(client: pg.ClientBase): Promise<string[]> {
  const { rows: tables } = await client.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     order by c.oid`,
  );
  const empty: string[] = [];
  for (const { name } of tables) {
    const { rowCount } = await client.query(`select from ${name} limit 2`);
    if (rowCount !== (await rowsWanted(client, name))) empty.push(name);
  }
  return empty;
}
