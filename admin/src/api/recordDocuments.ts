import {
  type ConsoleArgument,
  type Entity,
  type EntityAction,
  type EntityField,
  type EntityParent,
  type Report,
  fieldOf,
} from "../meta/entities.ts";
import { type Row, linkOf, typeFieldsOf } from "../meta/rows.ts";
import { name, pagesOf, selection, selections } from "./documents.ts";

// GraphQL documents that only the page of a record needs: a separate script that is loaded after the first list.

const hasVersion = ({ canUpdate, canDelete, actions }: Entity): boolean =>
  [canUpdate, canDelete, ...actions].some((mutation) => mutation?.takesVersion === true);

function recordFields(entity: Entity): string {
  const fields = selections(entity, entity.fields);
  return hasVersion(entity) ? `${fields} rowVersion` : fields;
}

/** Selects one row with all fields, and its version if the caller can change it. */
export function recordDocument(entity: Entity): string {
  const fields = recordFields(entity);
  if (entity.recordField !== null)
    return `query Record($id: ID!) { row: ${name(entity.recordField)}(id: $id) { ${fields} } }`;
  return `query Record($query: String!) { page: ${pagesOf(entity)}(query: $query, first: 1) { nodes { ${fields} } } }`;
}

/** Selects the rows that a query finds, with all fields. */
export function recordsDocument(entity: Entity): string {
  return `query Records($query: String!, $first: Int!) { page: ${pagesOf(entity)}(query: $query, first: $first) { nodes { ${recordFields(entity)} } } }`;
}

/** Selects the row of the caller, as `recordDocument` does. */
export function profileDocument(entity: Entity): string {
  return `query Profile { row: me { ${recordFields(entity)} } }`;
}

/** The document of a new row, with those of the mutation's other arguments that have variables. */
export function createDocument(
  entity: Entity,
  variables: Readonly<Record<string, unknown>>,
): string {
  const { field, inputType } = mutationOf(entity, "canCreate");
  const input = { name: "input", variable: "input", type: `${inputType}!` };
  const others = givenOf(entity.canCreate?.arguments ?? [], variables);
  const { declared, call } = callOf(field, [input, ...others]);
  const secret = entity.secretField === null ? "" : ` ${name(entity.secretField)}`;
  return `mutation Create${declared} { row: ${call} { ${recordFields(entity)}${secret} } }`;
}

export function updateDocument(entity: Entity): string {
  const { field, inputType, takesVersion } = mutationOf(entity, "canUpdate");
  const [variable, argument] = takesVersion
    ? [", $ifVersion: String", ", ifVersion: $ifVersion"]
    : ["", ""];
  return `mutation Update($id: ID!, $input: ${name(inputType)}!${variable}) { row: ${name(field)}(id: $id, input: $input${argument}) { ${recordFields(entity)} } }`;
}

export function deleteDocument(entity: Entity): string {
  const mutation = entity.canDelete;
  if (mutation === null) throw new Error(`${entity.name} cannot be deleted`);
  const [variable, argument] = mutation.takesVersion
    ? [", $ifVersion: String", ", ifVersion: $ifVersion"]
    : ["", ""];
  return `mutation Delete($id: ID!${variable}) { done: ${name(mutation.field)}(id: $id${argument}) }`;
}

/** The document of an action with those of its arguments that have variables; the row is in `rowVariables`. */
export function actionDocument(
  {
    field,
    argument,
    takesVersion,
    arguments: args,
    flags,
    returnsValue,
    resultFields,
    secretField,
  }: EntityAction,
  variables: Readonly<Record<string, unknown>>,
): string {
  const row = argument === null ? [] : [{ name: argument, variable: "id", type: "ID!" }];
  const version = { name: "ifVersion", variable: "ifVersion", type: "String" };
  const passed = [...row, ...(takesVersion ? [version] : []), ...givenOf(args, variables)];
  const { declared, call } = callOf(field, passed, flags);
  const shown = [
    ...new Set([
      "__typename",
      ...resultFields.flatMap(selection),
      ...(secretField === null ? [] : [name(secretField)]),
    ]),
  ].join(" ");
  return `mutation Act${declared} { done: ${call}${returnsValue ? "" : ` { ${shown} }`} }`;
}

/** The variables for the row of an action: the version that the user has seen keeps other changes from being missed. */
export function rowVariables(
  { argument, takesVersion }: EntityAction,
  row: Row | null,
): Record<string, unknown> {
  if (row === null || argument === null) return {};
  return takesVersion ? { id: row.id, ifVersion: row.rowVersion ?? null } : { id: row.id };
}

/** The document of a report with those of its arguments that have variables. */
export function reportDocument(
  report: Report,
  variables: Readonly<Record<string, unknown>>,
  entity: Entity | undefined,
  columns: readonly EntityField[],
): string {
  const { declared, call } = callOf(report.field, givenOf(report.arguments, variables));
  const rows = entity
    ? selections(entity, columns)
    : [...new Set([...usedBy(report), ...columns.flatMap(selection)])].join(" ");
  return `query Report${declared} { rows: ${call} { ${rows} } }`;
}

/** The fields of a row that its actions and its link need. */
function usedBy({ actions, fields }: Report): string[] {
  const ofRow = actions.filter(({ argument }) => argument !== null);
  const conditions = ofRow.flatMap(({ onlyIf, unless }) => [onlyIf ?? [], unless ?? []].flat());
  const link = linkOf(fields);
  const linked = link
    ? [link.name, ...typeFieldsOf(link).filter((own) => fieldOf({ fields }, own))]
    : [];
  return [...(ofRow.length === 0 ? [] : ["id"]), ...conditions, ...linked].map(name);
}

/** The arguments that have variables. */
function givenOf(
  args: readonly ConsoleArgument[],
  variables: Readonly<Record<string, unknown>>,
): { name: string; variable: string; type: string }[] {
  return args
    .map(({ name: own, type }) => ({ name: own, type, variable: variableOf({ name: own }) }))
    .filter(({ variable }) => variable in variables);
}

/** The name of the variable for an argument of a mutation or a report. */
export const variableOf = ({ name: own }: Pick<ConsoleArgument, "name">): string => `arg_${own}`;

/** A call of a field with arguments from variables and with flags, and the declaration of the variables. */
function callOf(
  field: string,
  passed: readonly { name: string; variable: string; type: string }[],
  flags: readonly string[] = [],
): { declared: string; call: string } {
  const variables = passed.map(({ variable, type }) => `$${name(variable)}: ${typeText(type)}`);
  const args = [
    ...passed.map((one) => `${name(one.name)}: $${name(one.variable)}`),
    ...flags.map((flag) => `${name(flag)}: true`),
  ];
  const inBrackets = (parts: readonly string[]) =>
    parts.length === 0 ? "" : `(${parts.join(", ")})`;
  return { declared: inBrackets(variables), call: name(field) + inBrackets(args) };
}

function typeText(text: string): string {
  if (!/^[[\]!\w]+$/.test(text)) throw new Error(`"${text}" is no GraphQL type`);
  return text;
}

function mutationOf(entity: Entity, verb: "canCreate" | "canUpdate") {
  const mutation = entity[verb];
  if (mutation?.inputType == null) throw new Error(`${entity.name} has no such mutation`);
  return { ...mutation, inputType: mutation.inputType };
}

/** Selects child rows with all fields, as `childRowsDocument` does. */
export function childRecordDocument(
  entity: Entity,
  upper: Entity,
  { field, shape }: EntityParent,
): string {
  const rows = recordFields(entity);
  const isConnection = shape === "CONNECTION";
  const list = isConnection
    ? `${name(field)}(first: $first, offset: $offset) { nodes { ${rows} } }`
    : `${name(field)} { ${rows} }`;
  const variables = isConnection ? ", $first: Int!, $offset: Int!" : "";
  return `query RecordBelow($query: String!${variables}) { upper: ${pagesOf(upper)}(query: $query, first: 1) { nodes { rows: ${list} } } }`;
}

export const deletionsDocument = `query Deletions($id: String!) {
  deletions(entityId: $id, limit: 1) { auditLogId label deletedAt userName }
}`;

export const restoreDocument = `mutation Restore($auditLogId: ID!) {
  restored: restore(auditLogId: $auditLogId)
}`;

export const historyDocument = `query History($entity: String!, $id: String!, $after: String) {
  history: recordHistory(entity: $entity, id: $id, after: $after) {
    nodes {
      id at operation correlationId source alsoChanged
      by { id name }
      changes { field before after isRestorable }
    }
    hasNextPage endCursor
  }
}`;
