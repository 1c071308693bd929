import type { ErrorRequestHandler, Request, Response } from "express";
import { LoginProblem } from "../auth/oidc/LoginProblem.ts";
import { PublicError } from "../errors/PublicError.ts";
import { escapeHtml } from "../html/escapeHtml.ts";
import { isOutage } from "../errors/databaseErrors.ts";
import { sendPage } from "./htmlPage.ts";
import { currentScope } from "../context/requestScope.ts";

/** The error page of all routes below `/auth`. */
export const problemPage: ErrorRequestHandler = (
  error: unknown,
  _request: Request,
  response: Response,
  next,
) => {
  const scope = currentScope();
  const problem = problemOf(error);
  if (problem.status >= 500 && problem !== error) scope?.log.error({ err: error }, "login failed");
  if (response.headersSent) {
    next(error);
    return;
  }
  const retryAfter = problem.status === 503 ? 2 : problem.retryAfter;
  if (retryAfter !== null) response.setHeader("Retry-After", String(retryAfter));
  sendPage(response, {
    status: problem.status,
    title: problem.title,
    body: [
      `<p role="alert">${escapeHtml(problem.message)}</p>`,
      problem.again === null
        ? ""
        : `<p><a href="${escapeHtml(problem.again)}">Log in again</a></p>`,
      `<p class="small">If you report this, name the number <code>${escapeHtml(scope?.correlationId ?? "")}</code>.</p>`,
    ].join("\n"),
  });
};

function problemOf(error: unknown): LoginProblem {
  if (error instanceof LoginProblem) return error;
  if (isOutage(error)) return outageProblem();
  if (error instanceof PublicError && error.code === "RATE_LIMITED") return tooManyProblem(error);
  if (error instanceof PublicError && ["TEST_MODE_DISABLED", "BAD_USER_INPUT"].includes(error.code))
    return new LoginProblem(400, "This request cannot be served", `${error.message}.`);
  return unexpectedProblem();
}

function tooManyProblem({ message, details }: PublicError): LoginProblem {
  const problem = new LoginProblem(429, "Too many attempts to log in", `${message}.`);
  problem.retryAfter = Number(details.retryAfter);
  return problem;
}

function outageProblem(): LoginProblem {
  return new LoginProblem(503, "Logging in is not possible just now", "Try again in a moment.");
}

function unexpectedProblem(): LoginProblem {
  return new LoginProblem(500, "Something went wrong", "The error has been recorded.");
}
