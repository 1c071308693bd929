import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createConnection } from "node:net";
import { Readable } from "node:stream";
import { z } from "zod";
import type { LoginProvider } from "../settings/oidcProviders.ts";
import type { Config } from "../config.ts";
import { makeErpClient } from "../gateways/makeErpClient.ts";
import { makeMailGateway } from "../gateways/makeMailGateway.ts";
import { makeS3Files } from "../gateways/s3Files.ts";
import { SearchRefusedError } from "../gateways/search.ts";
import { makeTypesense } from "../gateways/typesense.ts";
import { isOlderVersion, minEngineVersion, readEngineVersion } from "../search/engineVersion.ts";
import { messageOf } from "../health/externalSystems.ts";
import { type Finding, ok, warning, wrong } from "./finding.ts";

/** How long one system may take for all that is asked of it, in milliseconds. */
const patienceMs = 15_000;

/**
 * Looks at every outside system that the settings name, with the rights that the service needs there. Whatever that leaves behind is
 * removed again; a workflow is not started, a letter not sent and a model not asked.
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

/** What `check` says of a system; what it throws is wrong. */
async function look(
  name: string,
  adviceOn: string | ((error: unknown) => string),
  check: (signal: AbortSignal) => Promise<string | Finding[]>,
): Promise<Finding[]> {
  try {
    const said = await check(AbortSignal.timeout(patienceMs));
    return typeof said === "string" ? [ok(`${name}: ${said}`)] : said;
  } catch (error) {
    const advice = typeof adviceOn === "string" ? adviceOn : adviceOn(error);
    // `fetch` says why in the cause.
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
    return await look(name, advice, async (signal) => {
      await store.write(key, Readable.from(["well"]), signal);
      const text = String(await store.read(key, signal));
      if (text !== "well") throw new Error("what was written is read back as something else");
      const link = await store.link(key, { fileName: "doctor", seconds: 60 });
      const fetched = await fetch(link, { signal }).then(
        async (answer) => answer.ok && (await answer.text()) === "well",
        () => false,
      );
      await store.remove(key);
      return [
        ok(`${name}: a file was written, read and removed`),
        fetched
          ? ok(`${name}: a signed link works`)
          : warning(
              `${name}: a signed link could not be followed from here`,
              publicEndpoint === endpoint
                ? "Check S3_FORCE_PATH_STYLE and the store's clock"
                : "See whether users' browsers reach S3_PUBLIC_ENDPOINT",
            ),
      ];
    });
  } finally {
    store.close();
  }
}

async function search(config: Config): Promise<Finding[]> {
  const engine = makeTypesense(config.search);
  if (!engine) return [];
  const nodes = [...(config.search.nodes ?? []), ...(config.search.publicNodes ?? [])];
  const addresses = new Set(
    nodes.map(({ protocol, host, port }) => `${protocol}://${host}:${port}`),
  );
  const reached = [...addresses].map((address) =>
    look(
      `search engine ${address}`,
      "Check TYPESENSE_URL and TYPESENSE_PUBLIC_URL, and whether the node runs",
      async (signal) => {
        const answer = await fetch(`${address}/health`, { signal });
        await answer.body?.cancel();
        if (!answer.ok) throw new Error(`its health page was answered with ${answer.status}`);
        return "is well";
      },
    ),
  );
  const rights = look(
    "TYPESENSE_API_KEY",
    (error) =>
      error instanceof SearchRefusedError
        ? "It must be a key with all actions on all collections, since the service makes collections, aliases and keys"
        : "See the search engine above",
    async () => {
      await engine.collections();
      const id = await engine.makeKey({
        value: randomBytes(32).toString("base64url"),
        description: `back-office doctor ${randomUUID()}`,
        collections: ["doctor"],
      });
      await engine.dropKey(id);
      return "may list collections and make keys";
    },
  );
  const versions = (config.search.nodes ?? []).map(({ protocol, host, port }) => {
    const address = `${protocol}://${host}:${port}`;
    return look(`search engine ${address}`, "See TYPESENSE_API_KEY", async () => {
      const version = await readEngineVersion(address, {
        apiKey: config.search.apiKey ?? "",
        timeoutMs: patienceMs,
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
  return look(
    "ERP",
    "Check ERP_TENANT_ID, ERP_ENVIRONMENT, ERP_COMPANY_ID and the client's id and secret, and whether the application may read in Business Central",
    async (signal) => {
      const { company, durationMs } = await client.check({ signal });
      return `lets us read company "${company}" (${Math.round(durationMs)} ms)`;
    },
  );
}

async function workflow({ workflow: { url } }: Config): Promise<Finding[]> {
  if (url === undefined) return [];
  return look("product-sync workflow", "Check PRODUCT_SYNC_WORKFLOW_URL", async (signal) => {
    const { hostname, port, protocol } = new URL(url);
    const socket = createConnection(Number(port) || (protocol === "https:" ? 443 : 80), hostname);
    try {
      await once(socket, "connect", { signal });
    } finally {
      socket.destroy();
    }
    return "can be reached; it was not called, which would start a run";
  });
}

async function mail(config: Config): Promise<Finding[]> {
  const { check } = makeMailGateway(config);
  if (!check) return [];
  return look(
    "mail server",
    "Check SMTP_URL: host, port, login, and smtps:// for port 465",
    async () => {
      await check();
      return "lets us in; no letter was sent";
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
  const advice = `Check "issuer" of "${id}" in OIDC_PROVIDERS: it must be written as the provider writes it`;
  return look(`login "${id}"`, advice, async (signal) => {
    const address = `${issuer.replace(/\/+$/, "")}/.well-known/openid-configuration`;
    const answer = await fetch(address, { signal, redirect: "error" });
    if (!answer.ok) throw new Error(`its discovery document was answered with ${answer.status}`);
    const { data } = discovery.safeParse(await answer.json());
    if (!data) throw new Error("what is at its discovery address is no discovery document");
    if (data.issuer.replace(/\/+$/, "") !== issuer.replace(/\/+$/, ""))
      throw new Error(`its discovery document is of the issuer ${data.issuer.slice(0, 200)}`);
    return "its discovery document is right; client and secret show at a login only";
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
  return look("language model", "Check AI_BASE_URL and AI_API_KEY", async (signal) => {
    const answer = await fetch(`${base}/models`, { signal, headers, redirect: "error" });
    if (answer.status === 404)
      return [
        warning(
          "language model: answers, and does not list its models",
          "Ask the assistant something to see whether AI_MODEL is right",
        ),
      ];
    if (!answer.ok) throw new Error(`the list of its models was answered with ${answer.status}`);
    const { data: list } = models.safeParse(await answer.json());
    return list && !list.data.some(({ id }) => id === wanted)
      ? [warning(`language model: "${wanted}" is not in the list of its models`, "Check AI_MODEL")]
      : "lets us in; nothing was asked";
  });
}
