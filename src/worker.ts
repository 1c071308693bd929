import { runWorkerProcess } from "./workers/workerProcess.ts";

// The worker: takes jobs from the queue. Any number of them run beside any number of servers.
await runWorkerProcess(process.env);
