import { type DocumentNode, GraphQLError } from "graphql";
import type { ExecutionResult } from "graphql";
import type { IdempotencyKey } from "../auth/identity.ts";
import { containsToken } from "../auth/tokens.ts";
import type { ErrorCode } from "../errors/errorCodes.ts";
import { PublicError } from "../errors/PublicError.ts";
import type { Settings } from "../postgres/setLocalStatement.ts";
import type { HiddenField } from "./hiddenFields.ts";
import type { WithRequestClient } from "../postgres/service.ts";

/** The state of a key: unused, in use by another request, or used by a finished request. */
export type Claim = { state: "new" | "busy" } | { state: "done"; answer: StoredAnswer };

/** A stored response, as its caller saw it. */
interface StoredAnswer {
  data: Record<string, unknown>;
  errors?: StoredError[];
  /** Missing in responses that an earlier release stored. */
  hidden?: HiddenField[];
}

interface StoredError {
  message: string;
  path?: readonly (string | number)[] | undefined;
  positions?: readonly number[] | undefined;
  code: ErrorCode;
  details: Record<string, unknown>;
}

/** Claims a key in the current transaction. */
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
 * Stores the response of a mutation in its transaction. A response with a secret, such as a new API token, is not
 * stored: the key then records only that the mutation took effect.
 */
export async function storeAnswer(
  withPgClient: WithRequestClient,
  settings: Settings,
  { keyHash, requestHash }: IdempotencyKey,
  answer: StoredAnswer,
): Promise<void> {
  const text = JSON.stringify(answer);
  await withPgClient(settings, (client) =>
    client.query({
      text: "select keep_idempotent_answer($1, $2, $3::json)",
      values: [keyHash, requestHash, containsToken(text) ? null : text],
    }),
  );
}

/** The response with errors and hidden fields as the caller will see them. */
export function toStoredAnswer(
  result: ExecutionResult,
  hidden: HiddenField[],
  publicError: (error: GraphQLError) => GraphQLError,
): StoredAnswer {
  const errors = result.errors?.map((error): StoredError => {
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

/** A stored response as an execution result. */
export function resultOf(
  { data, errors, hidden = [] }: StoredAnswer,
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
