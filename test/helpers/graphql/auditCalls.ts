import { makeLoginCode } from "../../../src/auth/oidc/loginCode.ts";
import { hashToken } from "../../../src/auth/tokens.ts";
import { colleague, own } from "../../../dev/access/seed.ts";

/** How to call a root field that does not accept generated variables. */
export interface Preparation {
  /** Creates the rows that it needs and returns its variables as JSON. */
  sql?: string;
  /** The caller; a session by default. */
  by?: "session" | "token" | "nobody";
  /** The isolated test run of the call. */
  testRun?: string;
}

const first = (table: string, condition = "true") =>
  `(select id from ${table} where ${condition} order by id limit 1)`;
const input = (fields: string): Preparation => ({
  sql: `select jsonb_build_object('input', jsonb_build_object(${fields})) as variables`,
});
/** Creates a row for one call and returns its id. */
const onNew = (statement: string, more = ""): Preparation => ({
  sql: `with made as (${statement} returning id) select jsonb_build_object('id', id ${more}) as variables from made`,
});
const changed = (table: string, fields: string): Preparation => ({
  sql: `select jsonb_build_object('id', ${first(table)}, 'input', '${fields}'::jsonb) as variables`,
});
/** Changes, or deletes, one row by a mutation of many. */
const changedMany = (table: string, fields: string): Preparation => ({
  sql: `select jsonb_build_object('ids', jsonb_build_array(${first(table)}), 'input', '${fields}'::jsonb) as variables`,
});
const onNewOfMany = (statement: string, more = ""): Preparation => ({
  sql: `with made as (${statement} returning id) select jsonb_build_object('ids', jsonb_build_array(id) ${more}) as variables from made`,
});
const campaign = (title: string) =>
  `insert into campaigns (title, price, author_user_id, medium, scheduled_at)
   values ('${title}', '1', '${own.user}', 'EMAIL', now() + interval '1 day')`;
/** Inserts a requested absence of a colleague. Absences of one person do not overlap: each call needs another day. */
const absence = (day: string) =>
  `insert into absences (user_id, type, starts_on, ends_on) values ('${colleague}', 'TRAINING', '${day}', '${day}')`;
/** Inserts an unread notification of the caller. */
const notification = `insert into notifications (user_id, kind, title, subject_key) values ('${own.user}', 'JOB_FAILED', 'Call', uuidv7()::text)`;
/** Inserts a booking of a series. Bookings do not overlap: each call needs another day. */
const seriesBooking = (day: string) =>
  `insert into resource_bookings (resource_id, booked_by_user_id, booked_by_name, title, starts_at, ends_at, repeat_weeks, repeat_until, series_id)
   values (${first("resources")}, '${own.user}', 'Own', 'Planning', '${day}T09:00Z', '${day}T10:00Z', 1, '${day}', uuidv7())`;
/** Inserts a page of the handbook. */
const handbookPage = (title: string) =>
  `insert into documentation_pages (title, is_published) values ('${title}', true)`;
/** Inserts a search watch of the caller. */
const searchWatch = (name: string) =>
  `insert into search_watches (user_id, name, entity, query, table_name, statement, statement_values, seen_statement, ids_at)
   values ('${own.user}', '${name}', 'products', 'barolo', 'products', 'select 1', '[]', 'select 1', 0)`;
const loginCode = makeLoginCode();
const job = (state: string, finished: string) =>
  `insert into jobs (kind, max_attempts, user_id, queue_job_id, input, state, finished_at)
   select 'product_sync', 12, '${own.user}', j.id, jsonb_build_object('runId', uuidv7()), '${state}', ${finished}
   from graphile_worker.add_job('product_sync', '{}', run_at => now() + interval '1 day') as j`;

/** Preparations by root field, for fields whose generated variables are rejected or change nothing. */
export const preparations: Readonly<Record<string, Preparation>> = {
  activateUser: {
    sql: `select jsonb_build_object('userId', ${first("users", "not is_active")}) as variables`,
  },
  anonymiseUser: {
    sql: `with made as (insert into users (email) values ('former@example.com') returning id)
      select jsonb_build_object('userId', id) as variables from made`,
  },
  approveAbsence: onNew(absence("2040-01-02")),
  awayDays: {
    sql: `with made as (
        insert into absences (user_id, type, starts_on, ends_on, status)
        select u.id, 'TRAINING', current_date, current_date + 6, 'APPROVED' from users u
        where not exists (select from absences a where a.user_id = u.id)
        limit 1 returning id)
      select '{}'::jsonb as variables from made`,
  },
  // Works only in a tenant without users.
  bootstrapFirstUser: {
    by: "nobody",
    testRun: "trail",
    sql: `select '{"email": "first@example.com"}'::jsonb as variables`,
  },
  cancelAbsence: onNew(absence("2040-02-01")),
  cancelErpSyncRun: onNew("insert into erp_sync_runs (kind) values ('DATA_RECHECK')"),
  cancelExportJob: onNew(
    `insert into export_jobs (user_id, source, total_rows) values ('${own.user}', 'Made', 1)`,
  ),
  cancelJob: onNew(job("QUEUED", "null")),
  createAbsence: input(`'type', 'VACATION', 'startsOn', '2041-01-01', 'endsOn', '2041-01-02'`),
  createCampaign: input(
    `'title', 'Made', 'price', '1', 'medium', 'EMAIL', 'authorUserId', '${own.user}', 'scheduledAt', now() + interval '1 day'`,
  ),
  createDataExportFromTemplate: {
    sql: `with template as (insert into export_templates (name, kind) values ('For a call', 'TABLE') returning id),
      columns as (insert into export_template_columns (template_id, position, field, title) select id, 1, 'name', 'Name' from template)
      select jsonb_build_object('input', jsonb_build_object('templateId', id, 'productIds', jsonb_build_array(${first("products")})))
        as variables from template`,
  },
  createErpMappingRule: input(`'code', 'currency.unmapped', 'key', 'MADE', 'target', 'DKK'`),
  createErpMappingTarget: input(`'code', 'currency.unmapped', 'value', 'SEK', 'title', 'Kronor'`),
  createExportTemplate: input(
    `'name', 'Made', 'kind', 'TABLE', 'columns', '[{"field": "name"}]'::jsonb`,
  ),
  createInvitation: input(`'email', 'made@example.com', 'roleId', ${first("roles")}`),
  createMyApiToken: input(`'name', 'Made'`),
  createProductRating: {
    sql: `with made as (insert into reviewers (name) values ('For a rating') returning id)
      select jsonb_build_object('input', jsonb_build_object('productId', ${first("products")}, 'reviewerId', id, 'points', '90'))
        as variables from made`,
  },
  createPublicHoliday: input(`'holidayOn', '2045-01-01', 'name', 'Made'`),
  createResourceBooking: input(
    `'title', 'Made', 'resourceId', ${first("resources")}, 'startsAt', now() + interval '2 years', 'endsAt', now() + interval '2 years 1 hour'`,
  ),
  createRole: input(`'name', 'Made', 'permissionKeys', '["audit.read"]'::jsonb`),
  createUserApiToken: {
    sql: `select jsonb_build_object('userId', '${own.user}', 'input', '{"name": "Made"}'::jsonb) as variables`,
  },
  declineAbsence: onNew(absence("2040-03-01")),
  createListExport: input("'entity', 'campaigns', 'query', 'id:*'"),
  dismissErpImportFailure: onNew(
    `insert into erp_import_failures (record, message, first_seen_at, last_seen_at) values ('order audited', 'Made', now(), now())`,
  ),
  deactivateUser: {
    sql: `with made as (insert into users (email, is_active) values ('leaves@example.com', true) returning id)
      select jsonb_build_object('userId', id) as variables from made`,
  },
  unlinkUserLogins: {
    sql: `with made as (insert into users (email) values ('moves@example.com') returning id),
        linked as (
          insert into user_identities (user_id, issuer, subject, email)
          select id, 'https://login.example.com', 'moves', 'moves@example.com' from made
        )
      select jsonb_build_object('userId', id) as variables from made`,
  },
  deleteAiConversation: onNew(
    `insert into ai_conversations (id, user_id, title) values ('conversation-leaves', '${own.user}', 'Made')`,
  ),
  deleteAllCampaigns: onNew(campaign("Among all")),
  deleteCampaign: onNew(campaign("Leaves")),
  deleteExportJob: onNew(
    `insert into export_jobs (user_id, source, total_rows, state, finished_at)
     values ('${own.user}', 'Made', 1, 'cancelled', now())`,
  ),
  deleteExportTemplate: onNew(
    "insert into export_templates (name, kind) values ('Leaves', 'TABLE')",
  ),
  deleteRole: onNew("insert into roles (name) values ('Leaves')"),
  devLogin: { by: "nobody", sql: `select '{"email": "own@example.com"}'::jsonb as variables` },
  exchangeLoginCode: {
    by: "nobody",
    sql: `with made as (
        insert into login_codes (code_hash, user_id, provider, return_to, expires_at)
        values ('\\x${hashToken(loginCode).toString("hex")}', '${own.user}', 'p', 'https://app.example/', now() + interval '1 hour')
      ) select '{"code": "${loginCode}", "returnTo": "https://app.example/"}'::jsonb as variables`,
  },
  renameAiConversation: onNew(
    `insert into ai_conversations (id, user_id, title) values ('conversation-renamed', '${own.user}', 'Made')`,
    ", 'title', 'Renamed'",
  ),
  resendInvitation: {
    sql: `with person as (insert into users (email) values ('resent@example.com') returning id, email),
      made as (insert into invitations (user_id, email, role_id, expires_at)
        select id, email, '${own.role}', now() + interval '1 day' from person returning id)
      select jsonb_build_object('id', id) as variables from made`,
  },
  retryJob: onNew(job("FAILED", "now()")),
  revokeApiToken: onNew(
    `insert into api_tokens (user_id, name, token_hash, is_scoped, expires_at, created_by_user_id)
     values ('${own.user}', 'Leaves', 'leaves', false, now() + interval '1 day', '${own.user}')`,
  ),
  revokeCurrentApiToken: { by: "token" },
  revokeInvitation: {
    sql: `with person as (insert into users (email) values ('revoked@example.com') returning id, email),
      made as (insert into invitations (user_id, email, role_id, expires_at)
        select id, email, '${own.role}', now() + interval '1 day' from person returning id)
      select jsonb_build_object('id', id) as variables from made`,
  },
  revokeSession: onNew(
    `insert into sessions (user_id, token_hash, idle_expires_at, expires_at)
     values ('${own.user}', 'leaves', now() + interval '1 day', now() + interval '1 day')`,
  ),
  recordHistory: {
    sql: `select jsonb_build_object('entity', 'users', 'id', ${first("users")}) as variables`,
  },
  enterAbsence: {
    sql: `select jsonb_build_object('userId', '${colleague}', 'input',
        '{"type": "SICK", "startsOn": "2040-04-02", "endsOn": "2040-04-02"}'::jsonb) as variables`,
  },
  freeResources: {
    sql: `select jsonb_build_object('from', now(), 'to', now() + interval '1 hour') as variables`,
  },
  markNotificationRead: onNew(notification),
  notification: onNew(notification),
  cancelResourceBookingSeries: onNew(seriesBooking("2041-01-07")),
  updateResourceBookingSeries: onNew(
    seriesBooking("2041-01-14"),
    `, 'input', '{"title": "Changed"}'::jsonb`,
  ),
  deleteDocumentationPage: onNew(handbookPage("Deleted page")),
  documentationDifferences: {
    sql: `with made as (${handbookPage("Compared page")} returning id)
      insert into documentation_versions (page_id, number, title, body) select id, 9, 'Later', 'Later' from made
      returning jsonb_build_object('documentationPageId', page_id, 'fromVersion', 1) as variables`,
  },
  documentationPageBySlug: { sql: `select '{"slug": "query-language"}'::jsonb as variables` },
  restoreDocumentationVersion: {
    sql: `with made as (${handbookPage("Restored page")} returning id, title)
      insert into documentation_versions (page_id, number, title, body) select id, 9, 'Earlier', 'Earlier' from made
      returning jsonb_build_object('id', id) as variables`,
  },
  updateDocumentationPage: onNew(
    handbookPage("Changed page"),
    `, 'input', '{"body": "Changed"}'::jsonb`,
  ),
  createSavedView: input(`'name', 'Barolo', 'entity', 'products'`),
  createSearchWatch: input(`'name', 'Barolo', 'entity', 'products', 'query', 'barolo'`),
  deleteSearchWatch: onNew(searchWatch("Deleted")),
  searchDocumentation: { sql: `select '{"text": "query"}'::jsonb as variables` },
  searchWatch: onNew(searchWatch("Read")),
  updateSearchWatch: onNew(searchWatch("Changes"), `, 'input', '{"name": "Changed"}'::jsonb`),
  handOver: {
    sql: `with made as (${campaign("Handed over")} returning author_user_id)
      select jsonb_build_object('fromUserId', author_user_id, 'toUserId', '${colleague}') as variables from made`,
  },
  restore: {
    sql: `with made as (
        insert into audit_log (operation, entity_type, entity_id, before)
        values ('DELETE', 'Resource', uuidv7()::text, jsonb_build_object('id', uuidv7(), 'name', 'Restored', 'kind', 'ROOM')) returning id)
      select jsonb_build_object('auditLogId', id) as variables from made`,
  },
  updateAbsence: onNew(absence("2040-05-01"), `, 'input', '{"note": "Changed"}'::jsonb`),
  listExportFields: { sql: `select '{"entity": "orders"}'::jsonb as variables` },
  suggestions: { sql: `select '{"entity": "users", "text": ""}'::jsonb as variables` },
  searchConfig: { sql: `select '{"type": "orders"}'::jsonb as variables` },
  searchFields: { sql: `select '{"type": "orders"}'::jsonb as variables` },
  syncProducts: input(
    `'products', '[{"erpProductNumber": "synced", "fields": {"name": "Synced"}, "prices": [{"type": "retail", "currency": "DKK", "amount": "1"}],
       "ratings": [{"reviewerName": "Synced", "year": 2020, "points": "90"}]}]'::jsonb`,
  ),
  triggerProductSync: input(`'erpProductNumbers', '["1"]'::jsonb`),
  updateCampaign: onNew(campaign("Changes"), `, 'input', '{"title": "Changed"}'::jsonb`),
  updateErpMappingRule: changed("erp_mapping_rules", '{"note": "Changed"}'),
  updateErpMappingTarget: changed("erp_mapping_targets", '{"title": "Changed"}'),
  updateNotificationPreference: {
    sql: `select jsonb_build_object('id', ${first("notification_preferences", `user_id = '${own.user}'`)},
        'input', '{"mail": "AT_ONCE"}'::jsonb) as variables`,
  },
  updateOfficeSetting: changed("office_settings", '{"timeZone": "Asia/Tokyo"}'),
  updateOfficeSettings: changedMany("office_settings", '{"timeZone": "Asia/Seoul"}'),
  updatePublicHolidays: changedMany("public_holidays", '{"holidayOn": "2042-01-01"}'),
  updateCustomerNotes: changedMany("customer_notes", '{"body": "Changed with others"}'),
  updateErpMappingRules: changedMany("erp_mapping_rules", '{"note": "Changed with others"}'),
  updateErpMappingTargets: changedMany("erp_mapping_targets", '{"title": "Changed with others"}'),
  updateDocumentationPages: onNewOfMany(
    handbookPage("Changed with others"),
    `, 'input', '{"body": "Changed"}'::jsonb`,
  ),
  deleteDocumentationPages: onNewOfMany(handbookPage("Deleted with others")),
  deleteErpMappingTargets: onNewOfMany(
    "insert into erp_mapping_targets (code, value, title) values ('warehouse.unmapped', 'deleted', 'Deleted')",
  ),
  deleteReviewers: onNewOfMany("insert into reviewers (name) values ('Deleted with others')"),
  updateProductRating: changed("product_ratings", '{"points": "91"}'),
  updateExportTemplate: onNew(
    "insert into export_templates (name, kind) values ('Changes', 'TABLE')",
    `, 'input', '{"name": "Changed"}'::jsonb`,
  ),
  updateRole: onNew(
    "insert into roles (name) values ('Changes')",
    `, 'input', '{"name": "Changed", "permissionKeys": ["audit.read"]}'::jsonb`,
  ),
  updateUser: {
    sql: `select jsonb_build_object('id', ${first("users", `id <> '${own.user}'`)}, 'input', '{"name": "Changed"}'::jsonb) as variables`,
  },
};
