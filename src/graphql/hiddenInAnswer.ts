import { type DocumentNode, type ExecutionResult, getOperationAST } from "graphql";
import type { GrafastExecutionArgs } from "postgraphile/grafast";
import { passesGuard } from "../auth/guards.ts";
import type { RequestInfo } from "../auth/identity.ts";
import { applySkipInclude } from "./applySkipInclude.ts";
import {
  type HiddenField,
  type HideablePlace,
  type Rights,
  hiddenFrom,
  hideablePlaces,
  refuseFields,
  refusedTo,
} from "./hiddenFields.ts";

type OperationArgs = Pick<
  GrafastExecutionArgs,
  "schema" | "document" | "operationName" | "variableValues" | "contextValue"
>;

interface Context {
  requestContext: RequestInfo;
  pgSettings: Record<string, string>;
}

/** The most combinations of conditions that are cached for a document. */
const maxCachedOutcomes = 50;

const known = new WeakMap<DocumentNode, Map<string, readonly HideablePlace[]>>();

/** The hideable fields of an operation after `@skip` and `@include`, cached for each combination of conditions. */
function placesOf({ schema, document, operationName, variableValues }: OperationArgs) {
  const operation = getOperationAST(document, operationName);
  const left = operation && applySkipInclude(document, operation, variableValues ?? {});
  if (!left) return [];
  const ofDocument = known.get(document) ?? new Map<string, readonly HideablePlace[]>();
  known.set(document, ofDocument);
  const key = `${left.key}${operationName ?? ""}`;
  const before = ofDocument.get(key);
  if (before) return before;
  const prunedDocument = left.document();
  const places = prunedDocument ? hideablePlaces(schema, prunedDocument, operationName) : [];
  if (ofDocument.size >= maxCachedOutcomes) ofDocument.clear();
  ofDocument.set(key, places);
  return places;
}

/**
 * The hideable fields below root fields whose guards allow the caller, and the caller's rights; after a login, those of
 * the new session.
 */
function findPlacesAndRights(
  args: OperationArgs,
): { places: HideablePlace[]; rights: Rights } | null {
  const all = placesOf(args);
  if (all.length === 0) return null;
  const { requestContext, pgSettings } = args.contextValue as Context;
  const { identity } = requestContext;
  const permissions =
    identity?.permissions ?? new Set((pgSettings["office.permissions"] ?? "").split(","));
  return {
    places: all.filter(({ guard }) => passesGuard(guard, requestContext)),
    rights: { holds: (key) => permissions.has(key), isScoped: identity?.scoped ?? false },
  };
}

/** The entries of `extensions.hidden`; empty where nothing is hidden or there is no data. */
export function hiddenIn(args: OperationArgs, { data }: ExecutionResult): HiddenField[] {
  const found = data ? findPlacesAndRights(args) : null;
  return found ? hiddenFrom(found.places, found.rights) : [];
}

/** Adds `extensions.hidden` and errors at fields that a scoped token may not read. */
export function withHidden(args: OperationArgs, result: ExecutionResult): ExecutionResult {
  const { data, extensions = {} } = result;
  if (!data) return result;
  // A stored answer has its own entries.
  if (Array.isArray(extensions["hidden"])) {
    const { hidden, ...others } = extensions;
    if (hidden.length > 0) return result;
    const { extensions: _none, ...answer } = result;
    return Object.keys(others).length > 0 ? { ...answer, extensions: others } : answer;
  }
  const found = findPlacesAndRights(args);
  if (!found) return result;
  const { places, rights } = found;
  const answer = refuseFields(result, refusedTo(places, rights));
  const hidden = hiddenFrom(places, rights);
  return hidden.length === 0 ? answer : { ...answer, extensions: { ...extensions, hidden } };
}
