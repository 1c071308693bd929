import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { emulatedVersion } from "../../dev/emulators/searchEngine.ts";
import { type ExternalSystems, startExternalSystems } from "../helpers/externalSystems.ts";
import { runCommand } from "../helpers/commands/run.ts";

let external: ExternalSystems;
beforeAll(async () => {
  external = await startExternalSystems(1);
});
afterAll(() => external.stop());

const doctor = (env: Record<string, string>) =>
  runCommand("src/commands/doctor.ts", [], { ...external.env, ...env });

test("npm run doctor checks every external system and leaves nothing behind", async () => {
  const { code, output } = await doctor({});
  for (const line of [
    "files (S3_BUCKET back-office): a file was written, read and removed",
    "files (S3_BUCKET back-office): a signed link works",
    `search engine ${external.env["TYPESENSE_PUBLIC_URL"]}: is healthy`,
    `search engine ${external.env["TYPESENSE_URL"]}: version ${emulatedVersion}`,
    "TYPESENSE_API_KEY: may list collections and create keys",
    'ERP: allows to read company "',
    "product-sync workflow: is reachable",
    "mail server: accepts the login",
    'login "fleet": its discovery document is valid',
    "language model: accepts the key",
  ])
    expect(output).toContain(`ok      ${line}`);
  expect(output).not.toContain("WRONG");
  expect(code).toBe(0);
  expect(await external.files.content()).toEqual({ files: [], unfinished: [] });
});

test("npm run doctor advises on each failing external system and prints no secret", async () => {
  await external.proxies.mail.cut();
  await external.proxies.workflow.cut();
  const [provider] = JSON.parse(external.env["OIDC_PROVIDERS"] ?? "") as [{ issuer: string }];
  const { code, output } = await doctor({
    S3_SECRET_ACCESS_KEY: "not-the-secret",
    TYPESENSE_API_KEY: "not-the-key-of-the-engine",
    ERP_CLIENT_SECRET: "not-the-secret-either",
    AI_MODEL: "no-such-model",
    OIDC_PROVIDERS: JSON.stringify([{ ...provider, issuer: `${provider.issuer}/other` }]),
  });
  for (const [what, advice] of [
    ["files \\(S3_BUCKET back-office\\)", "Check S3_ENDPOINT"],
    ["TYPESENSE_API_KEY", "It must be a key with all actions"],
    ["ERP", "Check ERP_TENANT_ID"],
    ["product-sync workflow", "Check PRODUCT_SYNC_WORKFLOW_URL"],
    ["mail server", "Check SMTP_URL"],
    ['login "fleet"', 'Check "issuer" of "fleet"'],
  ])
    expect(output).toMatch(new RegExp(`^WRONG   ${what}: .+\\n +-> ${advice}`, "m"));
  expect(output).toMatch(/^WARNING language model: "no-such-model" is not in its list/m);
  expect(output).not.toMatch(/not-the-|ECONNREFUSED.*@/);
  expect(code).toBe(1);
});
