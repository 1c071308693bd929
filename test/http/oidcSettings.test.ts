import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { ConfigError, readConfig } from "../../src/config.ts";
import { startIdentityProvider } from "../../dev/emulators/identityProvider.ts";
import { startOnPreviousPort } from "../../dev/emulators/startOnPreviousPort.ts";
import { compileCache } from "../helpers/environment.ts";

const provider = {
  id: "staff",
  name: "Staff",
  issuer: "https://login.example",
  clientId: "office",
  clientSecret: "the-secret-itself",
};

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe("the setting OIDC_PROVIDERS", () => {
  test("is a list of providers with default scopes", () => {
    const { login } = readConfig({ OIDC_PROVIDERS: JSON.stringify([provider]) });
    expect(login.providers).toEqual([{ ...provider, scopes: ["openid", "email", "profile"] }]);
    expect(readConfig({}).login.providers).toEqual([]);
  });

  test.each([
    ["no JSON", "[{the-secret-itself", "it is not JSON"],
    ["no list", JSON.stringify(provider), "wrong at the top"],
    [
      "an unknown field",
      JSON.stringify([{ ...provider, secret: "the-secret-itself" }]),
      "wrong at 0",
    ],
    ["an id that fits no address", JSON.stringify([{ ...provider, id: "../x" }]), "wrong at 0.id"],
    [
      "an issuer that is no address",
      JSON.stringify([{ ...provider, issuer: "login" }]),
      "wrong at 0.issuer",
    ],
    ["no client", JSON.stringify([{ ...provider, clientId: "" }]), "wrong at 0.clientId"],
    [
      "an empty secret",
      JSON.stringify([{ ...provider, clientSecret: "" }]),
      "wrong at 0.clientSecret",
    ],
    ["an id twice", JSON.stringify([provider, provider]), "an id occurs twice"],
    ["scopes without openid", JSON.stringify([{ ...provider, scopes: ["email"] }]), "lack openid"],
  ])("with %s is rejected without repeating its value", (_what, text, problem) => {
    const problems = problemsOf({ OIDC_PROVIDERS: text });
    expect(problems).toEqual([expect.stringContaining(problem)]);
    expect(problems.join()).not.toContain("the-secret-itself");
  });

  test("requires https issuers in production", () => {
    const text = JSON.stringify([{ ...provider, issuer: "http://login.example" }]);
    expect(problemsOf({ OIDC_PROVIDERS: text })).toEqual([]);
    expect(
      problemsOf({ OIDC_PROVIDERS: text, NODE_ENV: "production", DATABASE_URL: "postgres://x/y" }),
    ).toEqual([expect.stringContaining('the issuer of "staff" must be an https address')]);
  });

  test("is required in production, with the addresses for logins", async () => {
    const child = spawn(process.execPath, ["src/server.ts"], {
      cwd: join(import.meta.dirname, "../.."),
      env: {
        ...compileCache,
        NODE_ENV: "production",
        DATABASE_URL: "postgres://nobody@127.0.0.1:1/none",
      },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let output = "";
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const [code] = (await once(child, "close")) as [number];
    expect(code).toBe(1);
    for (const name of ["OIDC_PROVIDERS", "PUBLIC_URL"])
      expect(output).toContain(`${name} is required in production, for logging in`);
  });
});

test("an invalid address in ALLOWED_RETURN_URLS is reported with its position", () => {
  expect(
    problemsOf({ ALLOWED_RETURN_URLS: "https://app.example/in, https://user:secret@app.example" }),
  ).toEqual([expect.stringContaining("ALLOWED_RETURN_URLS: entry 2 is not a plain address")]);
});

describe("the identity provider emulator", () => {
  test("restarts at its earlier address, and is not started when that is in use", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "identity-"));
    const log: string[] = [];
    const keep = () =>
      startOnPreviousPort({
        dataDir,
        log: (line) => log.push(line),
        start: (port) => startIdentityProvider({ port }),
      });
    try {
      const first = await keep();
      await first?.stop();
      const second = await keep();
      expect(second?.settings.issuer).toBe(first?.settings.issuer);
      expect(second?.settings.clientSecret).not.toBe(first?.settings.clientSecret);
      expect(await keep()).toBeNull();
      expect(log).toEqual([expect.stringContaining("to take another port")]);
      await second?.stop();
    } finally {
      await rm(dataDir, { recursive: true });
    }
  });

  test("redirects only to callbacks of this machine and the public address", async () => {
    const embedded = await startIdentityProvider({ port: 0, publicUrl: "https://office.test" });
    try {
      const ask = async (redirect: string) => {
        const query = new URLSearchParams({
          client_id: "back-office",
          response_type: "code",
          scope: "openid",
          redirect_uri: redirect,
          code_challenge: "x".repeat(43),
          code_challenge_method: "S256",
        });
        const { issuer } = embedded.settings;
        const { status } = await fetch(`${issuer}/auth?${query.toString()}`, {
          redirect: "manual",
        });
        return status;
      };
      expect(await ask("http://127.0.0.1:4000/auth/callback/embedded")).toBe(303);
      expect(await ask("http://localhost:1/auth/callback/embedded")).toBe(303);
      expect(await ask("https://office.test/auth/callback/embedded")).toBe(303);
      expect(await ask("https://evil.example/auth/callback/embedded")).toBe(400);
      expect(await ask("http://127.0.0.1:4000/elsewhere")).toBe(400);
    } finally {
      await embedded.stop();
    }
  });
});
