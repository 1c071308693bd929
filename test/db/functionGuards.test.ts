import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  type Actor,
  type TestDatabase,
  actAs,
  createDatabase,
  inTransaction,
} from "../helpers/database.ts";

/** A function that the request role may call, from the catalogue. */
interface OpenFunction {
  name: string;
  /** A call with null for every argument. */
  call: string;
  guard: string | null;
  computed: boolean;
  definer: boolean;
  volatile: boolean;
}

/** The guard that a plugin's field declares for the function that it calls. */
const guardsOfPlugins: Record<string, string> = {
  claim_idempotency_key: "principal",
  create_my_api_token: "principal",
  create_calendar_feed: "session",
  save_search_watch: "login",
  create_user_api_token: "users.update",
  bootstrap_first_user: "public",
  create_data_export_from_template: "exports.create products.read",
  list_export_template: "exports.create",
  start_list_export: "exports.create",
  create_export_template: "exporttemplates.update",
  update_export_template: "exporttemplates.update",
  begin_workbook: "exporttemplates.update",
  finish_workbook: "exporttemplates.update",
  placeholder_fields: "exporttemplates.update",
  dev_login: "public",
  exchange_login_code: "public",
  global_search_of: "login",
  keep_idempotent_answer: "principal",
  order_import_issue_groups: "erpsync.read",
  sample_orders: "erpsync.read",
  search_config_of: "principal",
  suggest_mapping_rules: "erpsync.read",
  sync_products: "products.create products.update",
  open_ai_conversation: "login ai.use",
  record_ai_tool_call: "login ai.use",
  add_ai_message: "login ai.use",
  remove_ai_messages_after: "login ai.use",
  set_ai_message_parts: "login ai.use",
  begin_ai_answer: "login ai.use",
  write_ai_chunks: "login ai.use",
  record_ai_usage: "login ai.use",
  reserve_ai_cost: "login ai.use",
  end_own_lost_ai_answer: "login ai.use",
  ai_usage_today: "login ai.use",
  finish_ai_answer: "login ai.use",
  stop_ai_answer: "login ai.use",
  running_ai_answer: "login ai.use",
  ai_chunks_after: "login ai.use",
  propose_ai_change: "login ai.use",
  answer_ai_approval: "login ai.use",
  expire_conversation_ai_approvals: "login ai.use",
  use_ai_approval: "login ai.use",
  begin_ai_attachment: "login ai.use",
  finish_ai_attachment: "login ai.use",
  claim_ai_attachments: "login ai.use",
  delete_ai_attachment: "login ai.use",
};

/** Security definer functions without a permission check, with the reason. */
const unguarded: Record<string, string> = {
  is_user: "tells whether an id is one of a user, to callers who see the absences of everybody",
  absence_time_zone: "returns only a time zone",
  missing_to_read: "compares given permissions with the tag of a table",
  absent_department_id: "checks that the caller sees the absences of the user",
  awaits_first_user: "tells login pages whether anybody is there",
  conflicting_change: "locks a row that the caller sees",
  last_change:
    "names who changed a row, for conflicting_change, which has checked that the caller sees it",
  locked_version: "locks a row, for conflicting_change",
  record_history: "reads for RecordHistoryPlugin, which has checked that the caller sees the row",
  colleague_name: "names a colleague, as periods away do, to every login",
  colleagues_department_id: "tells callers their own department",
  end_session: "ends the caller's own session, where there is one",
  fail: "raises",
  missing_row: "raises",
  own_export_products: "tells the products of the caller's own exports, which the caller named",
  record_read: "adds a row to the audit log",
  record_reads: "adds rows to the audit log",
};

let database: TestDatabase;
let functions: OpenFunction[];
let keys: string[];

beforeAll(async () => {
  database = await createDatabase();
  functions = await openFunctions();
  const { rows } = await database.pool.query<{ key: string }>("select key from permissions");
  keys = rows.map((row) => row.key);
});
afterAll(() => database.drop());

async function openFunctions(): Promise<OpenFunction[]> {
  const { rows } = await database.pool.query<OpenFunction>(
    `select p.proname as name,
       format('select %s(%s)', p.oid::regproc, (
         select string_agg('null::' || format_type(t, null), ', ' order by n)
         from unnest(p.proargtypes) with ordinality as a(t, n)
       )) as call,
       tags ->> 'guard' as guard, tags ? 'computed' as computed, p.prosecdef as definer, p.provolatile = 'v' as volatile
     from pg_proc p, comment_tags(obj_description(p.oid, 'pg_proc')) as tags
     where p.pronamespace = 'backoffice'::regnamespace and p.prorettype <> 'trigger'::regtype
       and has_function_privilege('office_api', p.oid, 'execute')
     order by 1`,
  );
  return rows.map((row) => ({ ...row, guard: row.guard ?? guardsOfPlugins[row.name] ?? null }));
}

/** The outcome of a call as the request role: `code: message`, or `done`. */
async function outcome(call: string, actor: Actor): Promise<string> {
  return inTransaction(database.pool, async (client) => {
    await actAs(client, actor);
    try {
      await client.query(call);
      return "done";
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      return `${code}: ${message}`;
    }
  });
}

async function faultsOf({ name, call, guard }: OpenFunction): Promise<string[]> {
  const faults: string[] = [];
  const expectRefusal = async (who: string, actor: Actor, wanted: string) => {
    const got = await outcome(call, actor);
    if (got !== wanted) faults.push(`${name}, called by ${who}: ${got}, not ${wanted}`);
  };
  if (guard === null || guard === "public") return [];
  await expectRefusal("nobody", { userId: null }, "OF401: You are not logged in");
  const [first, ...more] = guard.split(/[\s,]+/);
  const isLogin = first === "login" || first === "session";
  if (first === "login")
    await expectRefusal(
      "a scoped token",
      { permissions: keys, scoped: true },
      "OF403: This needs a full login: a scoped token is not enough",
    );
  if (first === "session")
    for (const actor of [{ scoped: true }, { unlimited: true }])
      await expectRefusal(
        `a token (${Object.keys(actor).join()})`,
        { permissions: keys, ...actor },
        "OF403: This needs a session: log in; an API token is not enough, with or without scopes",
      );
  if (guard !== "principal")
    for (const key of isLogin ? more : guard.split(/[\s,]+/))
      for (const scoped of isLogin ? [false] : [false, true])
        await expectRefusal(
          `${scoped ? "a token" : "a session"} with all but ${key}`,
          { permissions: keys.filter((other) => other !== key), scoped },
          `OF403: Missing required permission: ${key}`,
        );
  return faults;
}

describe("The functions that the request role may call, with no guard before them", () => {
  test("reject every caller whom their guard rejects", async () => {
    const guarded = functions.filter((f) => f.guard !== null);
    expect(guarded.length).toBeGreaterThan(15);
    expect((await Promise.all(guarded.map(faultsOf))).flat()).toEqual([]);
  });

  test("have a guard when they are security definer", () => {
    const open = functions.filter(
      (f) => f.guard === null && !f.computed && (f.definer || f.volatile) && !(f.name in unguarded),
    );
    expect(open.map((f) => f.name)).toEqual([]);
  });

  test("have no exception after they are dropped", () => {
    const names = functions.map((f) => f.name);
    const listed = [...Object.keys(guardsOfPlugins), ...Object.keys(unguarded)];
    expect(listed.filter((name) => !names.includes(name))).toEqual([]);
  });

  test("are not security definer when they compute a field", () => {
    expect(functions.filter((f) => f.computed && f.definer).map((f) => f.name)).toEqual([]);
  });
});

describe("The check of the functions", () => {
  test("detects a function that does not check its guard", async () => {
    const planted = functions.filter((f) => f.name === "delete_all_campaigns");
    const faults = await Promise.all(
      planted.map((f) => faultsOf({ ...f, guard: "campaigns.read" })),
    );
    expect(faults.flat()).toEqual([
      "delete_all_campaigns, called by a session with all but campaigns.read: done, not OF403: Missing required permission: campaigns.read",
      "delete_all_campaigns, called by a token with all but campaigns.read: done, not OF403: Missing required permission: campaigns.read",
    ]);
  });
});
