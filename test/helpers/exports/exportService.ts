import { randomUUID } from "node:crypto";
import ExcelJS from "exceljs";
import type { TestFiles } from "../fileServer.ts";
import { startTestFiles } from "../fileServer.ts";
import type { Service } from "../service.ts";
import { startService } from "../service.ts";
import { waitFor } from "../waitFor.ts";
import type { WorkerProcess, WorkerProcessOptions } from "../workers/workerProcess.ts";
import { startWorkerProcess } from "../workers/workerProcess.ts";

export interface Job {
  id: string;
  source: string;
  status: string;
  format: string;
  totalRows: number;
  exportedRows: number;
  fileSize: number | null;
  errorMessage: string | null;
  notes: string[];
}

/** A server, a worker and an object store, as in a deployment. */
export interface ExportService {
  service: Service;
  files: TestFiles;
  /** A user with all permissions for exports. */
  exporter: { token: string; userId: string; roleId: string };
  startWorker(
    settings?: Record<string, string>,
    options?: WorkerProcessOptions,
  ): Promise<WorkerProcess>;
  /** Adds products with the numbers 1, 2 and so on; returns their ids in that order. */
  addProducts(count: number, extra?: string): Promise<string[]>;
  templateId(name: string): Promise<string>;
  /** Creates a template of columns; returns its id. */
  makeTemplate(kind: "FORM" | "TABLE", columns: object[]): Promise<string>;
  start(templateId: string, productIds: readonly string[], token?: string): Promise<Job>;
  /** Starts an export with any input. */
  startWith(input: object, token?: string): Promise<Job>;
  job(id: string, token?: string): Promise<Job | null>;
  /** Waits until the job has one of these states. */
  reaches(id: string, states: readonly string[], token?: string): Promise<Job>;
  download(
    id: string,
    token?: string | null,
  ): Promise<{ status: number; body: DownloadBody; headers: Headers }>;
  /** The bytes of the finished workbook. */
  bytes(id: string, token?: string): Promise<Buffer>;
  /** The finished workbook, parsed. */
  open(id: string, token?: string): Promise<ExcelJS.Workbook>;
  stop(): Promise<void>;
}

export interface DownloadBody {
  url?: string;
  error?: { code: string; message: string };
}

const fields = "id source status format totalRows exportedRows fileSize errorMessage notes";

export async function startExportService(env: Record<string, string> = {}): Promise<ExportService> {
  const files = await startTestFiles();
  const service = await startService({ env: { ...files.env(), ...env } });
  const { pool } = service.database;
  const exporter = await service.login([
    ...[
      "exports.create",
      "exports.read",
      "products.read",
      "reviewers.read",
      "exporttemplates.update",
    ],
  ]);
  const ask = async (query: string, variables: object, token = exporter.token) => {
    const answer = await service.ask(query, { token, variables: { ...variables } });
    if (answer.errors) throw new Error(answer.errors.map(({ message }) => message).join("; "));
    return answer.data;
  };

  const self: ExportService = {
    service,
    files,
    exporter,
    startWorker: (settings, options) =>
      startWorkerProcess(service.database.url, { ...files.env(), ...env, ...settings }, options),
    async addProducts(count, extra = "") {
      const { rows } = await pool.query<{ id: string }>(
        `with made as (
           insert into products (erp_product_number, name, vintage)
           select lpad(n::text, 6, '0'), 'Wine ' || n || $2, 1990 + n % 30 from generate_series(1, $1::integer) as n
           returning id, erp_product_number
         ) select id from made order by erp_product_number`,
        [count, extra],
      );
      return rows.map(({ id }) => id);
    },
    async templateId(name) {
      const { rows } = await pool.query<{ id: string }>(
        "select id from export_templates where name = $1",
        [name],
      );
      return rows[0]?.id ?? "";
    },
    async makeTemplate(kind, columns) {
      const data = await ask(
        "mutation ($input: CreateExportTemplateInput!) { createExportTemplate(input: $input) { id } }",
        { input: { name: `Template ${randomUUID()}`, kind, columns } },
      );
      return data.createExportTemplate.id;
    },
    start: (templateId, productIds, token) => self.startWith({ templateId, productIds }, token),
    async startWith(input, token) {
      const data = await ask(
        `mutation ($input: CreateDataExportFromTemplateInput!) { createDataExportFromTemplate(input: $input) { ${fields} } }`,
        { input },
        token,
      );
      return data.createDataExportFromTemplate;
    },
    async job(id, token) {
      return (await ask(`query ($id: ID!) { exportJob(id: $id) { ${fields} } }`, { id }, token))
        .exportJob;
    },
    reaches: (id, states, token) =>
      waitFor(
        `the export to be ${states.join(" or ")}`,
        async () => {
          const job = await self.job(id, token);
          if (job && !states.includes(job.status) && ["failed", "cancelled"].includes(job.status))
            throw new Error(`the export is ${job.status}: ${job.errorMessage}`);
          return job !== null && states.includes(job.status) && job;
        },
        60_000,
      ),
    async download(id, token = exporter.token) {
      const response = await fetch(`${service.url}/exports/${id}/download`, {
        headers: token === null ? {} : { authorization: `Bearer ${token}` },
      });
      return {
        status: response.status,
        headers: response.headers,
        body: (await response.json()) as DownloadBody,
      };
    },
    async bytes(id, token) {
      const { body } = await self.download(id, token);
      const response = await fetch(body.url ?? "");
      return Buffer.from(await response.arrayBuffer());
    },
    async open(id, token) {
      const workbook = new ExcelJS.Workbook();
      await workbook.xlsx.load(new Uint8Array(await self.bytes(id, token)).buffer);
      return workbook;
    },
    async stop() {
      await service.stop();
      await files.stop();
    },
  };
  return self;
}
