import {
  type DocumentNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
  GraphQLError,
  getNamedType,
  getOperationAST,
  isNonNullType,
  isObjectType,
} from "graphql";
import { type Guard, guardOf } from "../auth/guards.ts";
import { type Fragments, collectFields, fragmentsOf } from "./collectFields.ts";
import { missingPermission } from "../errors/PublicError.ts";
import { type FieldVisibility, type Need, visibilityOf, visibilityOfRows } from "./visibility.ts";

/** An entry of `extensions.hidden`: a field that may lack rows which its caller has no permission to read. */
export interface HiddenField {
  /** Response names from the root, without list indexes. */
  path: readonly string[];
  requiredPermission: string;
}

/** A field of an operation that shows everything only to callers with certain permissions. */
export interface HideablePlace {
  path: readonly string[];
  /** The caller must meet all of them. */
  needs: readonly Need[];
  /** A permission without which a scoped token gets an error here instead of fewer rows. */
  scopedKey?: string;
  /** Whether an error of the field makes its parent object null. */
  isRequired: boolean;
  /** The guard of the root field above. */
  guard: Guard;
}

/** The rights of a caller. */
export interface Rights {
  holds: (permission: string) => boolean;
  isScoped: boolean;
}

/**
 * Finds the hideable fields of an operation without conditions, in time linear in its expanded fields, which are
 * limited.
 */
export function hideablePlaces(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): HideablePlace[] {
  const operation = getOperationAST(document, operationName);
  return operation ? placesIn(schema, document, operation) : [];
}

function placesIn(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): HideablePlace[] {
  const root = schema.getRootType(operation.operation);
  const fragments = fragmentsOf(document);
  const places: HideablePlace[] = [];
  for (const { field, key, sets } of fieldsIn(fragments, root ?? null, [operation.selectionSet])) {
    const shown = visibilityOf(field);
    const type = getNamedType(field.type);
    const around = { fragments, guard: guardOf(field), places };
    if (isObjectType(type))
      collect(around, type, sets, {
        path: [key],
        isOwn: shown.isOwn === "always",
        isPage: isPage(type),
        summary: null,
      });
  }
  return places;
}

interface Around {
  fragments: Fragments;
  guard: Guard;
  places: HideablePlace[];
}

/** The context of a selection. */
interface Position {
  path: readonly string[];
  /** Whether the object is the caller's own. */
  isOwn: boolean;
  /** Whether the type is a page of rows that were checked with it. */
  isPage: boolean;
  /** The fields that rows show to everybody here, and the need for the others. */
  summary: { fields: ReadonlySet<string>; need: Need } | null;
}

function collect(
  around: Around,
  type: GraphQLObjectType,
  selections: readonly SelectionSetNode[],
  at: Position,
): void {
  for (const { field, key, sets } of fieldsIn(around.fragments, type, selections)) {
    const path = [...at.path, key];
    const shown = visibilityOf(field);
    const inner = getNamedType(field.type);
    const row = isObjectType(inner) && !at.isPage ? visibilityOfRows(inner) : null;
    const isPromised =
      shown.follows === "parent" ||
      (shown.follows === "own" && at.isOwn) ||
      shown.isOwn === "always";
    const needs = [
      ...(at.summary && !at.summary.fields.has(field.name) ? [at.summary.need] : []),
      ...(row && !isPromised && !shown.summary ? [...(shown.needs ?? []), row.need] : []).filter(
        (need) => need !== null,
      ),
    ];
    const { scopedKey } = shown;
    const refuses = scopedKey !== undefined && at.isOwn;
    if (needs.length > 0 || refuses)
      around.places.push({
        path,
        needs,
        ...(refuses && { scopedKey }),
        isRequired: isNonNullType(field.type),
        guard: around.guard,
      });
    if (isObjectType(inner) && sets.length > 0)
      collect(around, inner, sets, below(at, path, inner, shown));
  }
}

function below(
  at: Position,
  path: readonly string[],
  type: GraphQLObjectType,
  shown: FieldVisibility,
): Position {
  const rows = visibilityOfRows(type);
  const { isOwn, summary } = shown;
  return {
    path,
    isOwn: isOwn === "always" || ((isOwn === "below" || at.isPage) && at.isOwn),
    isPage: isPage(type) || (at.isPage && rows === null),
    summary:
      summary && rows?.need
        ? { fields: new Set([...rows.summary, ...summary]), need: rows.need }
        : null,
  };
}

/** Whether a type is a page of rows: the field that returns it decides on visibility. */
function isPage(type: GraphQLObjectType): boolean {
  return "pageInfo" in type.getFields();
}

interface SelectedField {
  field: GraphQLField<unknown, unknown>;
  key: string;
  sets: SelectionSetNode[];
}

/** The fields of a selection by response name. */
function fieldsIn(
  fragments: Fragments,
  type: GraphQLObjectType | null,
  selections: readonly SelectionSetNode[],
): Iterable<SelectedField> {
  const found = new Map<string, SelectedField>();
  const declared = type?.getFields() ?? {};
  for (const { key, node } of selections.flatMap((set) => collectFields(fragments, set))) {
    const field = declared[node.name.value];
    if (!field) continue;
    const asked = found.get(key) ?? { field, key, sets: [] };
    if (node.selectionSet) asked.sets.push(node.selectionSet);
    found.set(key, asked);
  }
  return found.values();
}

/** The hideable fields that are incomplete for a caller. */
export function hiddenFrom(
  places: readonly HideablePlace[],
  { holds, isScoped }: Rights,
): HiddenField[] {
  return places.flatMap(({ path, needs }) => {
    const missing = needs.find(
      ({ keys, onlyScoped }) => (!onlyScoped || isScoped) && !keys.some(holds),
    );
    return missing ? [{ path, requiredPermission: missing.permission }] : [];
  });
}

/** The fields that are an error for a scoped token. */
export function refusedTo(
  places: readonly HideablePlace[],
  { holds, isScoped }: Rights,
): HideablePlace[] {
  return isScoped
    ? places.filter(({ scopedKey }) => scopedKey !== undefined && !holds(scopedKey))
    : [];
}

/** Adds errors at rejected fields below the root fields of a result. */
export function refuseFields<
  Result extends {
    data?: Record<string, unknown> | null | undefined;
    errors?: readonly GraphQLError[];
  },
>(result: Result, refused: readonly HideablePlace[]): Result {
  const { data } = result;
  if (!data || refused.length === 0) return result;
  const errors: GraphQLError[] = [];
  for (const { path, scopedKey = "", isRequired } of refused) {
    const [root = "", key = ""] = path;
    const object = data[root];
    if (typeof object !== "object" || object === null) continue;
    if (isRequired) data[root] = null;
    else (object as Record<string, unknown>)[key] = null;
    const originalError = missingPermission(scopedKey);
    errors.push(new GraphQLError(originalError.message, { path, originalError }));
  }
  return errors.length === 0
    ? result
    : { ...result, errors: [...(result.errors ?? []), ...errors] };
}
