import {
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
  Kind,
  getNamedType,
  isObjectType,
} from "graphql";

/** A field of a document where audited rows can come, or that leads to one. */
export interface Place {
  /** Its name in the answer. */
  key: string;
  path: string;
  node: FieldNode;
  /** The entity type of what comes here; null where the place only leads on. */
  entityType: string | null;
  /** Where it is a page and no row: under which names the answer holds the rows, if they were asked for. */
  pageKeys: string[] | null;
  /** Under which name the answer holds the rows' ids, if it was asked for. */
  idKey: string | null;
  /** Whether rows that come here have an id that was not asked for. */
  lacksId: boolean;
  /** Where it is a page: the fields by which its rows were asked for. */
  rows: PageRows[];
  children: Place[];
}

/** A field that shows the rows of a page. */
export interface PageRows {
  node: FieldNode;
  /** Under which names the answer holds them: the list, and in edges the row itself. */
  keys: string[];
  idKey: string | null;
  lacksId: boolean;
}

/** What the lists of rows in a page are called. */
const pageLists = ["nodes", "edges", "items"];

/** How a field says that it shows what is the caller's own, which is not recorded: always, or where it hangs on such a field. */
export const ownReads = "own";
export const ownReadsBelow = "unless own";

const known = new WeakMap<DocumentNode, Map<string | null, Place[]>>();

/** The places of an operation, found once for each document. */
export function placesOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): Place[] {
  const name = operation.name?.value ?? null;
  const found = known.get(document) ?? new Map<string | null, Place[]>();
  known.set(document, found);
  const before = found.get(name);
  if (before) return before;
  const root = schema.getRootType(operation.operation);
  const places = root ? collect({ schema, document }, root, [operation.selectionSet], "") : [];
  found.set(name, places);
  return places;
}

interface Around {
  schema: GraphQLSchema;
  document: DocumentNode;
  /** What is here is the caller's own. */
  own?: boolean;
  /** Rows of this type are counted already by what holds them. */
  counted?: string | undefined;
}

function collect(
  context: Around,
  type: GraphQLObjectType,
  selectionSets: readonly SelectionSetNode[],
  above: string,
): Place[] {
  const { schema, document } = context;
  const isRoot = above === "";
  const groups = new Map<string, { type: GraphQLObjectType; nodes: FieldNode[] }>();
  for (const set of selectionSets)
    for (const found of fieldsOf(schema, document, type, set)) {
      const key = found.node.alias?.value ?? found.node.name.value;
      const group = groups.get(key) ?? { type: found.type, nodes: [] };
      groups.set(key, group);
      group.nodes.push(found.node);
    }

  return [...groups].flatMap(([key, group]) => {
    const [node] = group.nodes;
    const field = node && group.type.getFields()[node.name.value];
    const inner = field && getNamedType(field.type);
    if (!inner || !isObjectType(inner)) return [];
    const declared = declaration(field);
    const page = pageLists.filter((name) => name in inner.getFields());
    const ofType = declaration(inner) ?? declarationOfRows(inner, page);
    const own = declared === ownReads || (declared === ownReadsBelow && context.own === true);
    const named = own || declared === ownReadsBelow ? ofType : (declared ?? ofType);
    const entityType = own || named === context.counted ? undefined : named;
    const path = isRoot ? key : `${above}.${key}`;
    const sets = group.nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
    // Below rows all counts anew; in what only holds them, such as a page, they are counted with it.
    const counted = declaration(inner) === undefined ? (entityType ?? context.counted) : undefined;
    const children = collect({ schema, document, own, counted }, inner, sets, path);
    if (entityType === undefined && children.length === 0) return [];
    const asked = sets.flatMap((set) => fieldsOf(schema, document, inner, set));
    const keysOf = (names: readonly string[]) =>
      asked.filter((one) => names.includes(one.node.name.value)).map((one) => keyOf(one.node));
    const [idKey = null] = keysOf(["id"]);
    return {
      key,
      path,
      node,
      entityType: entityType ?? null,
      pageKeys: page.length === 0 ? null : keysOf(pageLists),
      idKey,
      lacksId: idKey === null && "id" in inner.getFields(),
      rows: page.length === 0 ? [] : rowsOf(context, inner, sets),
      children,
    };
  });
}

/** The fields by which a page's rows are asked for, straight or by way of its edges. */
function rowsOf(
  { schema, document }: Around,
  page: GraphQLObjectType,
  sets: readonly SelectionSetNode[],
): PageRows[] {
  return sets
    .flatMap((set) => fieldsOf(schema, document, page, set))
    .filter(({ node }) => pageLists.includes(node.name.value))
    .flatMap(({ node }): PageRows[] => {
      const type = getNamedType(page.getFields()[node.name.value]?.type);
      if (!isObjectType(type) || !node.selectionSet) return [];
      const key = keyOf(node);
      const asked = fieldsOf(schema, document, type, node.selectionSet);
      if (node.name.value === "edges")
        return asked
          .filter((one) => one.node.name.value === "node")
          .map((one) => rowsIn(one.node, [key, keyOf(one.node)], type.getFields()["node"]));
      return [rowsIn(node, [key], page.getFields()[node.name.value])];
    });

  function rowsIn(
    node: FieldNode,
    keys: string[],
    field: GraphQLField<unknown, unknown> | undefined,
  ): PageRows {
    const type = getNamedType(field?.type);
    if (!isObjectType(type) || !node.selectionSet)
      return { node, keys, idKey: null, lacksId: false };
    const id = fieldsOf(schema, document, type, node.selectionSet).find(
      (one) => one.node.name.value === "id",
    );
    const idKey = id ? keyOf(id.node) : null;
    return { node, keys, idKey, lacksId: idKey === null && "id" in type.getFields() };
  }
}

function keyOf(node: FieldNode): string {
  return node.alias?.value ?? node.name.value;
}

/** The fields that a selection asks of a type, its fragments spread. */
function fieldsOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  type: GraphQLObjectType,
  { selections }: SelectionSetNode,
): { type: GraphQLObjectType; node: FieldNode }[] {
  return selections.flatMap((node) => {
    if (node.kind === Kind.FIELD) return [{ type, node }];
    const fragment =
      node.kind === Kind.INLINE_FRAGMENT
        ? node
        : document.definitions.find(
            (definition) =>
              definition.kind === Kind.FRAGMENT_DEFINITION &&
              definition.name.value === node.name.value,
          );
    if (fragment?.kind !== Kind.INLINE_FRAGMENT && fragment?.kind !== Kind.FRAGMENT_DEFINITION)
      return [];
    const condition = fragment.typeCondition && schema.getType(fragment.typeCondition.name.value);
    return fieldsOf(
      schema,
      document,
      isObjectType(condition) ? condition : type,
      fragment.selectionSet,
    );
  });
}

function declaration(of: { extensions: Readonly<Record<string, unknown>> }): string | undefined {
  return (of.extensions.office as { auditReads?: string } | undefined)?.auditReads;
}

/** What a page's rows declare. */
function declarationOfRows(page: GraphQLObjectType, lists: readonly string[]): string | undefined {
  const field = page.getFields()[lists[0] ?? ""];
  if (field === undefined) return undefined;
  const rows = getNamedType(field.type);
  return isObjectType(rows) ? declaration(rows) : undefined;
}
