import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { SignJWT, exportJWK, exportSPKI, generateKeyPair } from "jose";

/** How a provider's endpoint misbehaves. */
export type Fault = "down" | "slow" | "500" | "malformed" | "wrong type" | "endless" | "array";
export type Step = "discovery" | "jwks" | "token" | "userinfo";

/** The provider's response to one authorization code. */
export interface Grant {
  /** Claims of the identity token, merged over valid defaults; undefined removes one. */
  claims?: Record<string, unknown>;
  /** Creates the identity token instead of signing it with the provider's key. */
  sign?: (claims: Record<string, unknown>) => Promise<string> | string;
  /** The user-info response; 401 without one. */
  userinfo?: Record<string, unknown>;
}

/** An OpenID Connect provider with scripted behaviour, including faults. Each tenant is a separate issuer. */
export interface FakeProvider {
  settings(tenant: string): {
    id: string;
    name: string;
    issuer: string;
    clientId: string;
    clientSecret: string;
  };
  /** Returns the authorization code that a login redirects back with, for a request of the service. */
  grant(authorization: URL, grant: Grant): string;
  /** Makes a tenant's endpoint fail until `heal`. */
  break(tenant: string, step: Step, fault: Fault): void;
  heal(): void;
  publicKeyPem: string;
  stop(): Promise<void>;
}

export const clientSecret = "a-secret-of-the-client-that-must-not-leak";
const clientId = "office";

interface Issued extends Grant {
  tenant: string;
  nonce: string;
  challenge: string;
  redirectUri: string;
}

/** @param certificate serves the provider over https at `localhost` */
export async function startFakeProvider(certificate?: {
  key: string;
  cert: string;
}): Promise<FakeProvider> {
  const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
  const key = { ...(await exportJWK(publicKey)), kid: "one", use: "sig", alg: "RS256" };
  const faults = new Map<string, Fault>();
  const codes = new Map<string, Issued>();
  const tokens = new Map<string, Issued>();
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    handle(request, response).catch(() => response.destroy());
  };
  const server = certificate ? createTlsServer(certificate, listener) : createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const base = certificate ? `https://localhost:${port}` : `http://127.0.0.1:${port}`;
  const issuerOf = (tenant: string) => `${base}/${tenant}`;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, tenant = "", ...rest] = new URL(request.url ?? "/", base).pathname.split("/");
    const steps: Record<string, Step> = {
      ".well-known/openid-configuration": "discovery",
      jwks: "jwks",
      token: "token",
      userinfo: "userinfo",
    };
    const step = steps[rest.join("/")];
    const fault = faults.get(`${tenant} ${step ?? ""}`);
    if (fault) misbehave(response, fault);
    else if (step === "discovery") json(response, 200, metadata(issuerOf(tenant)));
    else if (step === "jwks") json(response, 200, { keys: [key] });
    else if (step === "token") await token(request, response);
    else if (step === "userinfo") {
      const issued = tokens.get(request.headers.authorization?.replace("Bearer ", "") ?? "");
      json(response, issued?.userinfo ? 200 : 401, issued?.userinfo ?? {});
    } else json(response, 404, {});
  }

  async function token(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request as AsyncIterable<Buffer>) text += chunk.toString();
    const form = new URLSearchParams(text);
    const code = form.get("code") ?? "";
    const issued = codes.get(code);
    codes.delete(code);
    const verifier = form.get("code_verifier") ?? "";
    const [id, secret] = Buffer.from(
      request.headers.authorization?.replace("Basic ", "") ?? "",
      "base64",
    )
      .toString()
      .split(":")
      .map(decodeURIComponent);
    const known = id === clientId && secret === clientSecret;
    if (
      !known ||
      !issued ||
      createHash("sha256").update(verifier).digest("base64url") !== issued.challenge ||
      form.get("redirect_uri") !== issued.redirectUri
    ) {
      json(response, known ? 400 : 401, { error: known ? "invalid_grant" : "invalid_client" });
      return;
    }
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: issuerOf(issued.tenant),
      aud: clientId,
      sub: "subject",
      nonce: issued.nonce,
      iat: now,
      exp: now + 300,
      ...issued.claims,
    };
    const sign = issued.sign ?? signed;
    const accessToken = randomUUID();
    tokens.set(accessToken, issued);
    json(response, 200, {
      access_token: accessToken,
      token_type: "Bearer",
      expires_in: 300,
      id_token: await sign(claims),
    });
  }

  const signed = (claims: Record<string, unknown>) =>
    new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "one" }).sign(privateKey);

  return {
    settings: (tenant) => ({
      id: tenant,
      name: `Fake ${tenant}`,
      issuer: issuerOf(tenant),
      clientId,
      clientSecret,
    }),
    grant(authorization, grant) {
      const code = randomUUID();
      const query = authorization.searchParams;
      codes.set(code, {
        ...grant,
        tenant: authorization.pathname.split("/")[1] ?? "",
        nonce: query.get("nonce") ?? "",
        challenge: query.get("code_challenge") ?? "",
        redirectUri: query.get("redirect_uri") ?? "",
      });
      return code;
    },
    break: (tenant, step, fault) => faults.set(`${tenant} ${step}`, fault),
    heal: () => {
      faults.clear();
    },
    publicKeyPem: await exportSPKI(publicKey),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

function metadata(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    userinfo_endpoint: `${issuer}/userinfo`,
    response_types_supported: ["code"],
    subject_types_supported: ["public"],
    // Advertises weak algorithms, which the service must refuse.
    id_token_signing_alg_values_supported: ["RS256", "HS256", "none"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: issuer.endsWith("/naming"),
  };
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function misbehave(response: ServerResponse, fault: Fault): void {
  switch (fault) {
    case "down":
      response.destroy();
      return;
    case "slow":
      return;
    case "500":
      response.writeHead(500, { "content-type": "text/plain" }).end("stack trace at line 1");
      return;
    case "malformed":
      response.writeHead(200, { "content-type": "application/json" }).end('{"issuer": "htt');
      return;
    case "wrong type":
      response.writeHead(200, { "content-type": "text/html" }).end("<h1>Maintenance</h1>");
      return;
    case "array":
      json(response, 200, [null]);
      return;
    case "endless": {
      response.writeHead(200, { "content-type": "application/json" });
      const more = () => {
        while (!response.destroyed && response.write(" ".repeat(65_536)));
      };
      response.on("drain", more);
      more();
    }
  }
}
