import { type DocumentNode, GraphQLError } from "graphql";
import type { ExecutionResult } from "graphql";
import type { IdempotencyKey } from "../auth/identity.ts";
import { holdsToken } from "../auth/tokens.ts";
import type { ErrorCode } from "../errors/errorCodes.ts";
import { PublicError } from "../errors/PublicError.ts";
import type { Settings } from "../postgres/setLocalStatement.ts";
import type { HiddenField } from "./hiddenFields.ts";
import type { WithRequestClient } from "../postgres/service.ts";

/** What became of a key: nobody has used it, another request is using it, or its request was answered. */
export type Claim = { state: "new" | "busy" } | { state: "done"; answer: KeptAnswer };

/** An answer as it is kept: what the caller was shown. */
interface KeptAnswer {
  data: Record<string, unknown>;
  errors?: KeptError[];
  /** Left out in answers that an earlier release kept. */
  hidden?: HiddenField[];
}

interface KeptError {
  message: string;
  path?: readonly (string | number)[] | undefined;
  positions?: readonly number[] | undefined;
  code: ErrorCode;
  details: Record<string, unknown>;
}

/** Asks for a key in the transaction at hand, which has it from then on when it is new. */
export async function claimKey(
  withPgClient: WithRequestClient,
  settings: Settings,
  { keyHash, requestHash }: IdempotencyKey,
): Promise<Claim> {
  const { rows } = await withPgClient(settings, (client) =>
    client.query<{ claim: Claim }>({
      text: "select claim_idempotency_key($1, $2) as claim",
      values: [keyHash, requestHash],
    }),
  );
  const [row] = rows;
  if (!row) throw new Error("A key that was claimed became nothing");
  return row.claim;
}

/**
 * Keeps the answer to an operation that took effect, in its transaction. What was made known once only, such as a new API
 * token, is not kept: the key then stands for what was done, without an answer.
 */
export async function keepAnswer(
  withPgClient: WithRequestClient,
  settings: Settings,
  { keyHash, requestHash }: IdempotencyKey,
  answer: KeptAnswer,
): Promise<void> {
  const text = JSON.stringify(answer);
  await withPgClient(settings, (client) =>
    client.query({
      text: "select keep_idempotent_answer($1, $2, $3::json)",
      values: [keyHash, requestHash, holdsToken(text) ? null : text],
    }),
  );
}

/** The answer with its errors, and what it hides, as the caller will see them. */
export function answerToKeep(
  result: ExecutionResult,
  hidden: HiddenField[],
  publicError: (error: GraphQLError) => GraphQLError,
): KeptAnswer {
  const errors = result.errors?.map((error): KeptError => {
    const shown = publicError(error);
    const { code, correlationId: _ownToEachRequest, ...details } = shown.extensions;
    return {
      message: shown.message,
      path: shown.path,
      positions: shown.positions,
      code: code as ErrorCode,
      details,
    };
  });
  return { data: result.data ?? {}, ...(errors ? { errors } : {}), hidden };
}

/** The answer that was kept, as a result of an execution. */
export function resultOf(
  { data, errors, hidden = [] }: KeptAnswer,
  document: DocumentNode,
): ExecutionResult {
  const shown = errors?.map(
    ({ message, path, positions, code, details }) =>
      new GraphQLError(message, {
        path,
        positions,
        source: document.loc?.source,
        originalError: new PublicError(code, message, details),
      }),
  );
  return { data, ...(shown ? { errors: shown } : {}), extensions: { hidden } };
}
