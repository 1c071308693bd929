import type { Entity, EntityField, EntityParent } from "../meta/entities.ts";

// Only this file and recordDocuments.ts build GraphQL documents from the metadata. Names from the service are validated
// here, so that they cannot inject other GraphQL syntax.

export function name(text: string): string {
  if (!/^[A-Za-z_]\w*$/.test(text)) throw new Error(`"${text}" is no GraphQL name`);
  return text;
}

/** The selections that show `field`: the field itself, its currency and, for a reference, the other row's id and name. */
export function selection({
  name: own,
  currencyField,
  reference,
  isInputOnly,
}: EntityField): string[] {
  const self = isInputOnly
    ? []
    : [own, currencyField].filter((part) => part !== null).map((part) => name(part));
  if (reference?.field == null) return self;
  const { keyField, nameField, detailField, colorField } = reference;
  const shown = ["id", keyField, nameField, detailField, colorField].filter(
    (part) => part !== null,
  );
  return [...self, `${name(reference.field)} { ${unique(shown.map(name)).join(" ")} }`];
}

const unique = (texts: readonly string[]): string[] => [...new Set(texts)];

export function selections(entity: Entity, fields: readonly EntityField[]): string {
  const always = [entity.nameField, entity.detailField, entity.colorField].filter(
    (field) => field !== null,
  );
  // The console identifies rows by `id`, an alias where the key is another column. A key of several columns is not used.
  const key =
    entity.keyField === null
      ? []
      : entity.keyField === "id"
        ? ["id"]
        : [`id: ${name(entity.keyField)}`];
  return unique([...key, ...always.map(name), ...fields.flatMap(selection)]).join(" ");
}

/** Selects one page of rows and, if `$count` is true, the number of all matching rows. */
export function listDocument(
  entity: Entity,
  fields: readonly EntityField[],
  orderBy: readonly string[],
): string {
  const order = orderBy.length === 0 ? "" : `, ${orderArgument(orderBy)}`;
  return `query List($query: String, $first: Int!, $offset: Int!, $count: Boolean!) {
  page: ${pagesOf(entity)}(query: $query, first: $first, offset: $offset, includeTotalCount: $count${order}) {
    totalCount
    nodes { ${[selections(entity, fields), ...deletedBy(entity)].join(" ")} }
  }
}`;
}

/** The fields by which the selected rows of a list are deleted: their owner, and the version that the user has seen. */
function deletedBy({ canDelete }: Entity): string[] {
  if (canDelete === null) return [];
  return [
    ...(canDelete.ownerField === null ? [] : [name(canDelete.ownerField)]),
    ...(canDelete.takesVersion ? ["rowVersion"] : []),
  ];
}

const orderArgument = (orderBy: readonly string[]): string =>
  `orderBy: [${orderBy.map(name).join(", ")}]`;

export function pagesOf(entity: Entity): string {
  if (entity.pagesField === null) throw new Error(`${entity.name} has no list at the root`);
  return name(entity.pagesField);
}

/** Selects child rows of the row of `upper` that `$query` finds: one page of a connection, a whole list, or the only row. */
export function childRowsDocument(
  entity: Entity,
  upper: Entity,
  { field, shape }: EntityParent,
  fields: readonly EntityField[],
  orderBy: readonly string[],
): string {
  const rows = selections(entity, fields);
  const order = orderBy.length === 0 ? "" : orderArgument(orderBy);
  const isConnection = shape === "CONNECTION";
  const list = isConnection
    ? `${name(field)}(first: $first, offset: $offset, includeTotalCount: $count ${order}) { totalCount nodes { ${rows} } }`
    : `${name(field)}${order === "" ? "" : `(${order})`} { ${rows} }`;
  const variables = isConnection ? ", $first: Int!, $offset: Int!, $count: Boolean!" : "";
  return `query Below($query: String!${variables}) { upper: ${pagesOf(upper)}(query: $query, first: 1) { nodes { rows: ${list} } } }`;
}

export const suggestionsDocument = `query Suggestions($entity: String!, $text: String!, $first: Int! = 8, $query: String) {
  suggestions(entity: $entity, text: $text, first: $first, query: $query) { id name detail color }
}`;

/** The suggestions of several lists, each under the name of its list. */
export function suggestionsOfListsDocument(lists: readonly string[]): string {
  const fields = lists.map(
    (list) =>
      `${name(list)}: suggestions(entity: "${name(list)}", text: $text, first: 5) { id name detail color }`,
  );
  return `query Suggestions($text: String!) { ${fields.join(" ")} }`;
}

/** Selects rows by key, at most 50. */
export const suggestionsByKeyDocument = `query Referred($entity: String!, $query: String!) {
  suggestions(entity: $entity, text: "", query: $query, first: 50) { id name detail color }
}`;

export const searchFieldsDocument = `query SearchFields($type: String!) {
  searchFields(type: $type) { name kind description isWordField values }
}`;

export const loginOptionsDocument = `{
  loginOptions { title devLogin firstUser providers { id name url } }
}`;

export const bootstrapDocument = `mutation ($email: String!) {
  session: bootstrapFirstUser(email: $email) { user { id } }
}`;

export const devLoginDocument = `mutation ($email: String!) {
  session: devLogin(email: $email) { user { id } }
}`;

export const logoutDocument = `mutation { done: logout }`;

export const listExportDocument = `mutation Export($input: CreateListExportInput!) {
  job: createListExport(input: $input) { id __typename }
}`;

/** Selects the export templates of a list, ordered by name; `$query` restricts them to the list. */
export const listTemplatesDocument = `query Templates($query: String!) {
  templates: exportTemplates(query: $query) { id name kind }
}`;

export const metadataDocument = `query Console($ifNot: String) {
  me { id name email avatarUrl displayLocale displayTimeZone }
  console(ifNot: $ifNot) {
    version title imageOrigins
    me { permissions }
    profile { ...entity }
    closedEntities { name title permission }
    closedReports { name title permission }
    reports {
      field typeName title description group icon entity
      arguments { ...argument }
      fields { ...field }
      actions { ...calledAction arguments { name } }
    }
    entities { ...entity }
  }
}
fragment entity on Entity {
  name typeName title titleOne description group icon keyField nameField detailField colorField
  secretField listField pagesField recordField defaultOrder defaultQuery hasHistory historyOwnerField
  canCreate { field inputType takesVersion arguments { ...argument } }
  canUpdate { field inputType takesVersion ownerField bulk { field mostRows } }
  canDelete { field inputType takesVersion ownerField bulk { field mostRows } }
  missing { verb permission description }
  fields { ...field }
  relations { field title entity by }
  parents { entity field shape by }
  actions { ...calledAction arguments { ...argument } }
}
fragment calledAction on EntityAction {
  field argument takesVersion title description isHarmful onlyIf unless flags returnsValue secretField resultFields { ...field }
}
fragment argument on ConsoleArgument { name type isObject fields { ...field } }
fragment field on EntityField {
  name title description kind widget unit unitOne currencyField isList isNullable isInputOnly onCreate onUpdate maxLength minimum maximum decimals
  defaultValue orderBy searchName place section
  values { value title tone }
  reference { entity titleOne field keyField nameField detailField colorField choices }
}`;
