import type { CronItem, TaskList } from "graphile-worker";
import { auditPartitions } from "./tasks/audit_partitions.ts";
import { erpSchedule } from "./tasks/erp_schedule.ts";
import { expireInvitations } from "./tasks/expire_invitations.ts";
import { productSync } from "./tasks/product_sync.ts";
import { importErpOrders } from "./tasks/import_erp_orders.ts";
import { reimportOrders } from "./tasks/reimport_orders.ts";
import { removeOldIdempotencyKeys } from "./tasks/remove_old_idempotency_keys.ts";
import { cleanAssistant } from "./tasks/clean_assistant.ts";
import { checkSearch } from "./tasks/check_search.ts";
import { cleanExports } from "./tasks/clean_exports.ts";
import { indexSearch } from "./tasks/index_search.ts";
import { removeFiles } from "./tasks/remove_files.ts";
import { removeOldSessions } from "./tasks/remove_old_sessions.ts";
import { runExport } from "./tasks/run_export.ts";
import { runWatches } from "./tasks/run_watches.ts";
import { scheduleNotifications } from "./tasks/schedule_notifications.ts";
import { sealAuditLog } from "./tasks/seal_audit_log.ts";
import { sendInvitation } from "./tasks/send_invitation.ts";
import { sendNotifications } from "./tasks/send_notifications.ts";
import { settleAssistant } from "./tasks/settle_assistant.ts";
import { settleJobs } from "./tasks/settle_jobs.ts";
import { startCampaigns } from "./tasks/start_campaigns.ts";
import { startExports } from "./tasks/start_exports.ts";
import { sweepTestTenants } from "./tasks/sweep_test_tenants.ts";
import { traceTask } from "../telemetry/traceTask.ts";
import type { TaskDefinition, TaskEnvironment } from "./queue/defineTask.ts";
import { verifySearch } from "./tasks/verify_search.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** All tasks by identifier, which is also the name of the file. */
export const tasks: Readonly<Record<string, TaskDefinition>> = {
  audit_partitions: auditPartitions,
  check_search: checkSearch,
  index_search: indexSearch,
  verify_search: verifySearch,
  erp_schedule: erpSchedule,
  expire_invitations: expireInvitations,
  product_sync: productSync,
  import_erp_orders: importErpOrders,
  reimport_orders: reimportOrders,
  remove_old_idempotency_keys: removeOldIdempotencyKeys,
  clean_assistant: cleanAssistant,
  clean_exports: cleanExports,
  remove_files: removeFiles,
  remove_old_sessions: removeOldSessions,
  run_export: runExport,
  run_watches: runWatches,
  schedule_notifications: scheduleNotifications,
  seal_audit_log: sealAuditLog,
  send_invitation: sendInvitation,
  send_notifications: sendNotifications,
  settle_assistant: settleAssistant,
  settle_jobs: settleJobs,
  start_campaigns: startCampaigns,
  start_exports: startExports,
  sweep_test_tenants: sweepTestTenants,
};

const everyMinute = "* * * * *";

/** The schedule (UTC) of the main tenant. `missedMs`: how far back a run missed by all workers is made up. Jobs of one `queue` run one at a time. */
const schedule: readonly { task: string; match: string; missedMs: number; queue?: string }[] = [
  // Starts the campaigns whose own job was missed.
  { task: "start_campaigns", match: everyMinute, missedMs: 0 },
  { task: "run_watches", match: everyMinute, missedMs: 0, queue: "watches" },
  { task: "schedule_notifications", match: everyMinute, missedMs: 0 },
  { task: "seal_audit_log", match: everyMinute, missedMs: 0 },
  { task: "expire_invitations", match: "*/5 * * * *", missedMs: 0 },
  { task: "settle_jobs", match: "*/10 * * * *", missedMs: 0 },
  // The task itself determines which imports are due, in the configured time zone.
  { task: "erp_schedule", match: everyMinute, missedMs: 0 },
  { task: "clean_exports", match: "*/5 * * * *", missedMs: 0 },
  { task: "settle_assistant", match: everyMinute, missedMs: 0 },
  { task: "clean_assistant", match: "*/10 * * * *", missedMs: 0 },
  // Retries failed deletions, and deletes each file a second time.
  { task: "remove_files", match: "*/5 * * * *", missedMs: 0 },
  // Delivers missed changes and restores lost collections and keys of the engine.
  { task: "check_search", match: everyMinute, missedMs: 0 },
  { task: "verify_search", match: "10 3 * * *", missedMs: 0 },
  { task: "sweep_test_tenants", match: "17 * * * *", missedMs: 0 },
  { task: "remove_old_idempotency_keys", match: "37 * * * *", missedMs: 0 },
  { task: "audit_partitions", match: "20 1 * * *", missedMs: dayMs },
  { task: "remove_old_sessions", match: "40 1 * * *", missedMs: dayMs },
];

export function taskList(
  environment: TaskEnvironment,
  definitions: Readonly<Record<string, TaskDefinition>> = tasks,
): TaskList {
  return Object.fromEntries(
    Object.entries(definitions).map(([name, define]) => [
      name,
      traceTask(name, define(environment)),
    ]),
  );
}

/** The schedule for one main tenant. Each run is queued once, with any number of workers and after missed runs. */
export function crontab(tenant: string): CronItem[] {
  return schedule.map(({ task, match, missedMs, queue }) => ({
    task,
    match,
    identifier: `${tenant}:${task}`,
    payload: { tenant, input: {} },
    options: {
      backfillPeriod: missedMs,
      // The next run resets the attempts of a waiting job. All attempts must fit before it, or the task never fails.
      maxAttempts: match === everyMinute ? 4 : 5,
      jobKey: `${tenant}:${task}:schedule`,
      ...(queue !== undefined && { queueName: `${tenant}:${queue}` }),
    },
  }));
}
