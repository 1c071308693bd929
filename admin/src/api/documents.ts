import type { Entity, EntityAction, EntityField } from "../meta/catalogue.ts";

// The only place that writes GraphQL text from the catalogue. Names come from the service, and are checked here all the same:
// nothing else than a name can get into a document.

function name(text: string): string {
  if (!/^[A-Za-z_]\w*$/.test(text)) throw new Error(`"${text}" is no GraphQL name`);
  return text;
}

/** The fields that show `field`: itself, or the row that it refers to by its id and name. */
function selection({ name: own, reference, isInputOnly }: EntityField): string[] {
  const self = isInputOnly ? [] : [name(own)];
  if (reference?.field == null) return self;
  const { keyField, nameField, colorField } = reference;
  const shown = ["id", keyField, nameField, colorField].filter((part) => part !== null);
  return [...self, `${name(reference.field)} { ${unique(shown.map(name)).join(" ")} }`];
}

const unique = (texts: readonly string[]): string[] => [...new Set(texts)];

function selections(entity: Entity, fields: readonly EntityField[]): string {
  const always = [entity.nameField, entity.detailField, entity.colorField].filter(
    (field) => field !== null,
  );
  // Every row has an `id` for the console, also where another column is the key; a key of several columns is none.
  const key =
    entity.keyField === null
      ? []
      : entity.keyField === "id"
        ? ["id"]
        : [`id: ${name(entity.keyField)}`];
  return unique([...key, ...always.map(name), ...fields.flatMap(selection)]).join(" ");
}

const hasVersion = (entity: Entity): boolean =>
  entity.canUpdate?.takesVersion === true || entity.canDelete?.takesVersion === true;

function recordFields(entity: Entity): string {
  const fields = selections(entity, entity.fields);
  return hasVersion(entity) ? `${fields} rowVersion` : fields;
}

/** One page of rows, with the count of all that match when `$count` says so. */
export function listDocument(
  entity: Entity,
  fields: readonly EntityField[],
  orderBy: readonly string[],
): string {
  const order = orderBy.length === 0 ? "" : `, orderBy: [${orderBy.map(name).join(", ")}]`;
  return `query List($query: String, $first: Int!, $offset: Int!, $count: Boolean!) {
  page: ${name(entity.pagesField)}(query: $query, first: $first, offset: $offset, includeTotalCount: $count${order}) {
    totalCount
    nodes { ${selections(entity, fields)} }
  }
}`;
}

/** One row with all of its fields, and its version where the caller can change it. */
export function recordDocument(entity: Entity): string {
  const fields = recordFields(entity);
  if (entity.recordField !== null)
    return `query Record($id: ID!) { row: ${name(entity.recordField)}(id: $id) { ${fields} } }`;
  return `query Record($query: String!) { page: ${name(entity.pagesField)}(query: $query, first: 1) { nodes { ${fields} } } }`;
}

export function createDocument(entity: Entity): string {
  const { field, inputType } = mutationOf(entity, "canCreate");
  return `mutation Create($input: ${name(inputType)}!) { row: ${name(field)}(input: $input) { ${recordFields(entity)} } }`;
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

export function actionDocument({ field, argument }: EntityAction): string {
  return `mutation Act($id: ID!) { row: ${name(field)}(${name(argument)}: $id) { __typename } }`;
}

function mutationOf(entity: Entity, verb: "canCreate" | "canUpdate") {
  const mutation = entity[verb];
  if (mutation?.inputType == null) throw new Error(`${entity.name} has no such mutation`);
  return { ...mutation, inputType: mutation.inputType };
}

export const suggestionsDocument = `query Suggestions($entity: String!, $text: String!) {
  suggestions(entity: $entity, text: $text, first: 8) { id name detail color }
}`;

/** The rows that `query` names by their keys, 50 at most. */
export const suggestionsByKeyDocument = `query Referred($entity: String!, $query: String!) {
  suggestions(entity: $entity, text: "", query: $query, first: 50) { id name detail color }
}`;

export const searchFieldsDocument = `query SearchFields($type: String!) {
  searchFields(type: $type) { name kind description isWordField values }
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

export const catalogueDocument = `query Console($ifNot: String) {
  console(ifNot: $ifNot) {
    version title
    me { permissions user { id name email avatarUrl } }
    closedEntities { name title permission }
    entities {
      name typeName title titleOne description group icon keyField nameField detailField colorField
      listField pagesField recordField defaultOrder hasHistory
      canCreate { field inputType takesVersion }
      canUpdate { field inputType takesVersion }
      canDelete { field inputType takesVersion }
      missing { verb permission description }
      fields {
        name title description kind widget unit isList isNullable isInputOnly onCreate onUpdate maxLength defaultValue
        orderBy searchName place section
        values { value title tone }
        reference { entity field keyField nameField colorField }
      }
      relations { field title entity by }
      actions { field argument title description isHarmful onlyIf unless }
    }
  }
}`;
