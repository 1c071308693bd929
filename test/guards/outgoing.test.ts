import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "@jest/globals";

const src = path.join(import.meta.dirname, "../../src");

/** Matches code that opens a connection to an external system other than PostgreSQL. */
const opening =
  /(?<![.\w])fetch\(|new (?:S3Client|Client|OTLPTraceExporter)\(|createTransport\(|import \{[^}]*\brequest\b[^}]*\} from "node:https?"|import \{[^}]*\} from "(?:openid-client|@ai-sdk\/\w[\w-]*)"/;

/** Each file that calls another system, and why a call from an isolated test run changes nothing there. */
const calls: Readonly<Record<string, string>> = {
  "auth/oidc/LoginProblem.ts": "names errors of the library only",
  "auth/oidc/LoginStrategy.ts": "a login changes nothing at the identity provider",
  "auth/oidc/providerClients.ts": "a login changes nothing at the identity provider",
  "auth/oidc/providerSystem.ts": "reads the discovery document",
  "auth/oidc/readPerson.ts": "reads who logs in",
  "gateways/boundedFetch.ts": "its callers read a token or log in",
  "gateways/erp/accessToken.ts": "gets a token for reading",
  "gateways/erp/transport.ts": "sends GET only",
  "gateways/mailFolder.ts": "writes files, and defineTask sends no mail of a test run",
  "gateways/makeModelGateway.ts": "a model keeps nothing; its tools work in the run's schema",
  "gateways/pictures.ts": "sends GET only, without credentials",
  "gateways/s3Files.ts": "keys begin with the name of the run's schema",
  "gateways/smtp.ts": "defineTask sends no mail of a test run",
  "gateways/typesense.ts": "collections and keys carry the run's id",
  "gateways/workflowClient.ts": "product_sync calls the recorder from a test run",
  "search/engineVersion.ts": "sends GET only",
  "search/scopedKeys.ts": "computes keys and calls nothing",
  "telemetry/startTracing.ts": "traces belong to the process, not to a run",
};

/** Files that open connections; commands are run by operators, in the main tenant only. */
function callers(): string[] {
  return readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.startsWith("commands/"))
    .filter((name) => opening.test(readFileSync(path.join(src, name), "utf8")))
    .sort();
}

test("every file that calls an external system documents why a test run changes nothing there", () => {
  expect(callers()).toEqual(Object.keys(calls).sort());
});

test("every task that sends mail is named `send_…`, so that its jobs run one after the other", () => {
  const tasks = path.join(src, "workers/tasks");
  const senders = readdirSync(tasks).filter((name) =>
    readFileSync(path.join(tasks, name), "utf8").includes("sendMail"),
  );
  expect(senders).toContain("send_invitation.ts");
  expect(senders.filter((name) => !name.startsWith("send_"))).toEqual([]);
});

test.each(["gateways/erp/transport.ts", "search/engineVersion.ts", "gateways/pictures.ts"])(
  "%s sends GET only",
  (name) => {
    const text = readFileSync(path.join(src, name), "utf8");
    expect(text).not.toMatch(/method: "(?!GET)/);
  },
);
