import type { ConstantOverrides } from "../../src/settings/constants.ts";

// Runs a server or a worker like production, with other constants: `node officeProcess.ts server|worker '{"erp":
// {...}}'`.
const [role, overrides = "{}"] = process.argv.slice(2);
const constants = JSON.parse(overrides) as ConstantOverrides;
if (role === "server") {
  const { runServerProcess } = await import("../../src/server.ts");
  await runServerProcess(process.env, constants);
} else {
  const { runWorkerProcess } = await import("../../src/workers/workerProcess.ts");
  await runWorkerProcess(process.env, {}, constants);
}
