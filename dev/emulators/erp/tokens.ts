import { randomBytes, timingSafeEqual } from "node:crypto";
import { ApiProblem } from "./problem.ts";

/** The credentials of the client, and the lifetime of its tokens. */
export interface TokenIssuerOptions {
  clientId: string;
  clientSecret: string;
  seconds: number;
}

export interface TokenIssuer {
  /** Answers a request of the OAuth client credentials grant, in the form of Entra ID. */
  issue(form: URLSearchParams, authorization: string | undefined): TokenAnswer;
  /** @throws ApiProblem when the header has no valid token */
  verify(authorization: string | undefined): void;
  /** Revokes all tokens. */
  expireAll(): void;
  issued(): number;
}

export interface TokenAnswer {
  status: number;
  body: Record<string, string | number>;
}

export function makeTokenIssuer(options: TokenIssuerOptions): TokenIssuer {
  const { clientId, clientSecret, seconds } = options;
  const expiresAt = new Map<string, number>();
  let issued = 0;
  return {
    issue(form, authorization) {
      if (form.get("grant_type") !== "client_credentials")
        return refusal(
          400,
          "unsupported_grant_type",
          "AADSTS70003: The grant type is not supported.",
        );
      if (!/^https?:\/\/[^/]+\/\.default$/.test(form.get("scope") ?? ""))
        return refusal(
          400,
          "invalid_scope",
          "AADSTS70011: The provided value for scope is not valid.",
        );
      const [id, secret] = credentials(form, authorization);
      if (id !== clientId)
        return refusal(400, "unauthorized_client", "AADSTS700016: Application was not found.");
      if (!isSame(secret, clientSecret))
        return refusal(401, "invalid_client", "AADSTS7000215: Invalid client secret provided.");
      const now = Date.now();
      for (const [token, end] of expiresAt) if (end < now) expiresAt.delete(token);
      const token = randomBytes(32).toString("base64url");
      expiresAt.set(token, now + seconds * 1000);
      issued++;
      const body = { token_type: "Bearer", expires_in: seconds, access_token: token };
      return { status: 200, body };
    },
    verify(authorization) {
      const token = /^Bearer (\S+)$/.exec(authorization ?? "")?.[1] ?? "";
      if ((expiresAt.get(token) ?? 0) > Date.now()) return;
      throw new ApiProblem(
        401,
        "Authentication_InvalidCredentials",
        "The server has rejected the client credentials.",
      );
    },
    expireAll: () => expiresAt.clear(),
    issued: () => issued,
  };
}

function credentials(form: URLSearchParams, authorization: string | undefined): [string, string] {
  const basic = /^Basic (\S+)$/.exec(authorization ?? "")?.[1];
  if (basic === undefined) return [form.get("client_id") ?? "", form.get("client_secret") ?? ""];
  const [id = "", secret = ""] = Buffer.from(basic, "base64").toString("utf8").split(":");
  return [decodeURIComponent(id), decodeURIComponent(secret)];
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function refusal(status: number, error: string, description: string): TokenAnswer {
  return { status, body: { error, error_description: description } };
}
