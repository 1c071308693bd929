import type { CronItem, TaskList } from "graphile-worker";
import { auditPartitions } from "./audit_partitions.ts";
import { erpSchedule } from "./erp_schedule.ts";
import { expireInvitations } from "./expire_invitations.ts";
import { productSync } from "./product_sync.ts";
import { importErpOrders } from "./import_erp_orders.ts";
import { reimportOrders } from "./reimport_orders.ts";
import { removeOldIdempotencyKeys } from "./remove_old_idempotency_keys.ts";
import { cleanAssistant } from "./clean_assistant.ts";
import { checkSearch } from "./check_search.ts";
import { cleanExports } from "./clean_exports.ts";
import { indexSearch } from "./index_search.ts";
import { removeFiles } from "./remove_files.ts";
import { removeOldSessions } from "./remove_old_sessions.ts";
import { runExport } from "./run_export.ts";
import { sealAuditLog } from "./seal_audit_log.ts";
import { sendInvitation } from "./send_invitation.ts";
import { settleAssistant } from "./settle_assistant.ts";
import { settleJobs } from "./settle_jobs.ts";
import { startCampaigns } from "./start_campaigns.ts";
import { startExports } from "./start_exports.ts";
import { sweepTestAreas } from "./sweep_test_areas.ts";
import { traceTask } from "../telemetry/traceTask.ts";
import type { TaskDefinition, TaskEnvironment } from "./task.ts";
import { verifySearch } from "./verify_search.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** Every task by its identifier, which is the name of its file. */
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
  seal_audit_log: sealAuditLog,
  send_invitation: sendInvitation,
  settle_assistant: settleAssistant,
  settle_jobs: settleJobs,
  start_campaigns: startCampaigns,
  start_exports: startExports,
  sweep_test_areas: sweepTestAreas,
};

/** When tasks run by themselves (UTC), in the main area. `missedMs`: how far back a run that no worker was there for is made up. */
const schedule: readonly { task: string; match: string; missedMs: number }[] = [
  // What a job at the moment itself has missed.
  { task: "start_campaigns", match: "* * * * *", missedMs: 0 },
  { task: "seal_audit_log", match: "* * * * *", missedMs: 0 },
  { task: "expire_invitations", match: "*/5 * * * *", missedMs: 0 },
  { task: "settle_jobs", match: "*/10 * * * *", missedMs: 0 },
  // Looks itself what is due, in the configured time zone, and what was missed.
  { task: "erp_schedule", match: "* * * * *", missedMs: 0 },
  { task: "clean_exports", match: "*/5 * * * *", missedMs: 0 },
  { task: "settle_assistant", match: "* * * * *", missedMs: 0 },
  { task: "clean_assistant", match: "*/10 * * * *", missedMs: 0 },
  // What could not be removed when it was condemned, and everything once more.
  { task: "remove_files", match: "*/5 * * * *", missedMs: 0 },
  // What a job at the moment itself has missed, and what the engine has lost.
  { task: "check_search", match: "* * * * *", missedMs: 0 },
  { task: "verify_search", match: "10 3 * * *", missedMs: 0 },
  { task: "sweep_test_areas", match: "17 * * * *", missedMs: 0 },
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

/** The schedule for one main area; with several workers, and after a missed run, each run is still queued once. */
export function crontab(area: string): CronItem[] {
  return schedule.map(({ task, match, missedMs }) => ({
    task,
    match,
    identifier: `${area}:${task}`,
    payload: { area, input: {} },
    options: { backfillPeriod: missedMs, maxAttempts: 5, jobKey: `${area}:${task}:schedule` },
  }));
}
