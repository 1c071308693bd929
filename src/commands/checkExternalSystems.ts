import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createConnection } from "node:net";
import { Readable } from "node:stream";
import { z } from "zod";
import type { LoginProvider } from "../settings/oidcProviders.ts";
import type { Config } from "../config.ts";
import { makeErpClient } from "../gateways/makeErpClient.ts";
import { makeMailGateway } from "../gateways/makeMailGateway.ts";
import type { FileStore } from "../gateways/files.ts";
import { identifyDatabase, isSameDatabase, readOwner, ownerRefusal } from "../exports/ownBucket.ts";
import { makeS3Files } from "../gateways/s3Files.ts";
import { SearchRefusedError } from "../gateways/search.ts";
import { makeTypesense } from "../gateways/typesense.ts";
import { isOlderVersion, minEngineVersion, readEngineVersion } from "../search/engineVersion.ts";
import { messageOf } from "../health/externalSystems.ts";
import { type Finding, ok, warning, wrong } from "./finding.ts";
import { withPool } from "./runCommand.ts";

/** Time-out of all requests to one system, in milliseconds. */
const timeoutMs = 15_000;

/**
 * Checks each configured external system, with the permissions that the service needs there. Test files are removed
 * again; no workflow is started, no mail is sent and no model is called.
 */
export async function checkExternalSystems(config: Config): Promise<Finding[]> {
  const found = await Promise.all([
    files(config),
    search(config),
    erp(config),
    workflow(config),
    mail(config),
    ...config.login.providers.map(provider),
    model(config),
  ]);
  return found.flat();
}

/** The findings of `check`; an error is a finding as well. */
async function checkSystem(
  name: string,
  adviceOn: string | ((error: unknown) => string),
  check: (signal: AbortSignal) => Promise<string | Finding[]>,
): Promise<Finding[]> {
  try {
    const result = await check(AbortSignal.timeout(timeoutMs));
    return typeof result === "string" ? [ok(`${name}: ${result}`)] : result;
  } catch (error) {
    const advice = typeof adviceOn === "string" ? adviceOn : adviceOn(error);
    // `fetch` has the reason in the cause.
    const { cause } = error as { cause?: unknown };
    const why = error instanceof TypeError && cause !== undefined ? cause : error;
    return [wrong(`${name}: ${messageOf(why)}`, advice)];
  }
}

async function files(config: Config): Promise<Finding[]> {
  const { endpoint, publicEndpoint, bucket } = config.files;
  if (endpoint === undefined) return [];
  const name = `files (S3_BUCKET ${bucket})`;
  const advice =
    "Check S3_ENDPOINT, S3_REGION, S3_BUCKET and the key, which must be allowed to put, get, list and delete objects there";
  const store = makeS3Files(config.files);
  const key = `doctor/${randomUUID()}`;
  try {
    return await checkSystem(name, advice, async (signal) => {
      await store.write(key, Readable.from(["well"]), signal);
      const text = String(await store.read(key, signal));
      if (text !== "well") throw new Error("the file that was read differs from the written one");
      const link = await store.link(key, { fileName: "doctor", seconds: 60 });
      const fetched = await fetch(link, { signal }).then(
        async (answer) => answer.ok && (await answer.text()) === "well",
        () => false,
      );
      await store.remove(key);
      return [
        ok(`${name}: a file was written, read and removed`),
        ...(await ownerOf(store, config)),
        fetched
          ? ok(`${name}: a signed link works`)
          : warning(
              `${name}: a signed link could not be fetched from this machine`,
              publicEndpoint === endpoint
                ? "Check S3_REGION, and that the store serves addresses of the form endpoint/bucket"
                : "Check whether users' browsers reach S3_PUBLIC_ENDPOINT",
            ),
      ];
    });
  } finally {
    store.close();
  }
}

/** Whether the bucket belongs to the database of the settings. */
async function ownerOf(
  store: FileStore,
  { database, files: { bucket } }: Config,
): Promise<Finding[]> {
  const { workerUrl } = database;
  if (workerUrl === undefined) return [];
  const owner = await readOwner(store);
  if (owner === null) return [ok(`bucket ${bucket}: the first worker takes it`)];
  // The check of the database reports when it does not answer.
  const own = await withPool(database, workerUrl, "office_worker", identifyDatabase).catch(
    () => null,
  );
  if (own === null) return [];
  if (isSameDatabase(owner, own)) return [ok(`bucket ${bucket}: belongs to this database`)];
  const [problem = "", ...advice] = ownerRefusal(bucket, owner, own).split("\n");
  return [wrong(problem, advice.join(" "))];
}

async function search(config: Config): Promise<Finding[]> {
  const engine = makeTypesense(config.search);
  if (!engine) return [];
  const nodes = [...(config.search.nodes ?? []), ...(config.search.publicNodes ?? [])];
  const addresses = new Set(
    nodes.map(({ protocol, host, port }) => `${protocol}://${host}:${port}`),
  );
  const reached = [...addresses].map((address) =>
    checkSystem(
      `search engine ${address}`,
      "Check TYPESENSE_URL and TYPESENSE_PUBLIC_URL, and whether the node runs",
      async (signal) => {
        const answer = await fetch(`${address}/health`, { signal });
        await answer.body?.cancel();
        if (!answer.ok) throw new Error(`its health page returned ${answer.status}`);
        return "is healthy";
      },
    ),
  );
  const rights = checkSystem(
    "TYPESENSE_API_KEY",
    (error) =>
      error instanceof SearchRefusedError
        ? "It must be a key with all actions on all collections, since the service creates collections, aliases and keys"
        : "See the search engine above",
    async () => {
      await engine.collections();
      const id = await engine.makeKey({
        value: randomBytes(32).toString("base64url"),
        description: `back-office doctor ${randomUUID()}`,
        collections: ["doctor"],
      });
      await engine.dropKey(id);
      return "may list collections and create keys";
    },
  );
  const versions = (config.search.nodes ?? []).map(({ protocol, host, port }) => {
    const address = `${protocol}://${host}:${port}`;
    return checkSystem(`search engine ${address}`, "See TYPESENSE_API_KEY", async () => {
      const version = await readEngineVersion(address, {
        apiKey: config.search.apiKey ?? "",
        timeoutMs,
      });
      return isOlderVersion(version, minEngineVersion)
        ? [
            warning(
              `search engine ${address}: version ${version} is older than ${minEngineVersion}`,
              `Update Typesense to ${minEngineVersion} or later, see docs/search.md`,
            ),
          ]
        : `version ${version}`;
    });
  });
  try {
    return (await Promise.all([...reached, ...versions, rights])).flat();
  } finally {
    engine.close();
  }
}

async function erp(config: Config): Promise<Finding[]> {
  const client = makeErpClient(config);
  if (!client) return [];
  return checkSystem(
    "ERP",
    "Check ERP_TENANT_ID, ERP_ENVIRONMENT, ERP_COMPANY_ID and the client's id and secret, and whether the application may read in Business Central",
    async (signal) => {
      const { company, durationMs } = await client.check({ signal });
      return `allows to read company "${company}" (${Math.round(durationMs)} ms)`;
    },
  );
}

async function workflow({ workflow: { url } }: Config): Promise<Finding[]> {
  if (url === undefined) return [];
  return checkSystem("product-sync workflow", "Check PRODUCT_SYNC_WORKFLOW_URL", async (signal) => {
    const { hostname, port, protocol } = new URL(url);
    const socket = createConnection(
      Number(port) || (protocol === "https:" ? 443 : 80),
      // Without the brackets of an IPv6 address.
      hostname.replace(/^\[|\]$/g, ""),
    );
    try {
      await once(socket, "connect", { signal });
    } finally {
      socket.destroy();
    }
    return "is reachable; it was not called, since a call starts a run";
  });
}

async function mail(config: Config): Promise<Finding[]> {
  const { check } = makeMailGateway(config);
  if (!check) return [];
  return checkSystem(
    "mail server",
    "Check SMTP_URL: host, port, login, and smtps:// for port 465",
    async () => {
      await check();
      return "accepts the login; no mail was sent";
    },
  );
}

const discovery = z.looseObject({
  issuer: z.string(),
  authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  jwks_uri: z.string(),
});

async function provider({ id, issuer }: LoginProvider): Promise<Finding[]> {
  const advice = `Check "issuer" of "${id}" in OIDC_PROVIDERS: it must be spelt exactly as in the discovery document`;
  return checkSystem(`login "${id}"`, advice, async (signal) => {
    const address = `${issuer.replace(/\/+$/, "")}/.well-known/openid-configuration`;
    const answer = await fetch(address, { signal, redirect: "error" });
    if (!answer.ok) throw new Error(`its discovery document returned ${answer.status}`);
    const { data } = discovery.safeParse(await answer.json());
    if (!data) throw new Error("its discovery address does not serve a discovery document");
    if (data.issuer.replace(/\/+$/, "") !== issuer.replace(/\/+$/, ""))
      throw new Error(`its discovery document names the issuer ${data.issuer.slice(0, 200)}`);
    return "its discovery document is valid; only a login checks client and secret";
  });
}

const models = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });

async function model({ assistant }: Config): Promise<Finding[]> {
  const { provider: kind, baseUrl, apiKey = "", model: wanted } = assistant;
  if (wanted === undefined) return [];
  const base = (baseUrl ?? "https://api.anthropic.com/v1").replace(/\/+$/, "");
  const headers: Record<string, string> =
    kind === "anthropic"
      ? { "x-api-key": apiKey, "anthropic-version": "2023-06-01" }
      : apiKey === ""
        ? {}
        : { authorization: `Bearer ${apiKey}` };
  return checkSystem("language model", "Check AI_BASE_URL and AI_API_KEY", async (signal) => {
    const answer = await fetch(`${base}/models`, { signal, headers, redirect: "error" });
    if (answer.status === 404)
      return [
        warning(
          "language model: is reachable, but does not list its models",
          "Ask the assistant a question to check AI_MODEL",
        ),
      ];
    if (!answer.ok) throw new Error(`its list of models returned ${answer.status}`);
    const { data: list } = models.safeParse(await answer.json());
    return list && !list.data.some(({ id }) => id === wanted)
      ? [warning(`language model: "${wanted}" is not in its list of models`, "Check AI_MODEL")]
      : "accepts the key; no question was asked";
  });
}
