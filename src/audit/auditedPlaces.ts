import {
  type DocumentNode,
  type FieldNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
  Kind,
  getNamedType,
  isObjectType,
} from "graphql";
import { isCondition } from "../graphql/conditions.ts";

/** A field of a document that returns audited rows, or leads to one that does. */
export interface Place {
  /** Its response name. */
  key: string;
  path: string;
  /** Its nodes; several where it is selected several times. */
  nodes: [FieldNode, ...FieldNode[]];
  /** The entity type of its rows; null where it only leads on. */
  entityType: string | null;
  /** For a page: the response names of its lists of rows. */
  pageKeys: string[] | null;
  /** The response name under which the ids are always present, if any. */
  idKey: string | null;
  /** Whether some rows have an id that was not selected, or only under a condition. */
  lacksId: boolean;
  /** For a page: the fields that return its rows. */
  rows: PageRows[];
  children: Place[];
}

/** A field that returns the rows of a page. */
export interface PageRows {
  nodes: FieldNode[];
  /** The response names: of the list, and within edges of the row. */
  keys: string[];
  idKey: string | null;
  lacksId: boolean;
}

/** A selection, and whether it is conditional. */
interface Selected {
  set: SelectionSetNode;
  conditional: boolean;
}

/** A selected field. */
interface Asked {
  type: GraphQLObjectType;
  node: FieldNode;
  conditional: boolean;
}

/** The names of lists within pages. */
const pageLists = ["nodes", "edges", "items"];

/** Marker: reads of the caller's own data are not audited, always or below such a field. */
export const ownReads = "own";
export const ownReadsBelow = "unless own";

const known = new WeakMap<DocumentNode, Map<string | null, Place[]>>();

/** The audited fields of an operation, cached per document. */
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
  const places = root
    ? collect({ schema, document }, root, [{ set: operation.selectionSet, conditional: false }], "")
    : [];
  found.set(name, places);
  return places;
}

interface Around {
  schema: GraphQLSchema;
  document: DocumentNode;
  /** Whether the object is the caller's own. */
  own?: boolean;
  /** The entity type that the containing object counts already. */
  counted?: string | undefined;
}

function collect(
  context: Around,
  type: GraphQLObjectType,
  selected: readonly Selected[],
  above: string,
): Place[] {
  const { schema, document } = context;
  const isRoot = above === "";
  const groups = Map.groupBy(
    selected.flatMap((one) => fieldsOf(context, type, one)),
    ({ node }) => keyOf(node),
  );

  return [...groups].flatMap(([key, group]) => {
    const [first, ...others] = group;
    const field = first?.type.getFields()[first.node.name.value];
    const inner = field && getNamedType(field.type);
    if (!first || !inner || !isObjectType(inner)) return [];
    const declared = declaration(field);
    const page = pageLists.filter((name) => name in inner.getFields());
    const ofType = declaration(inner) ?? declarationOfRows(inner, page);
    const own = declared === ownReads || (declared === ownReadsBelow && context.own === true);
    const named = own || declared === ownReadsBelow ? ofType : (declared ?? ofType);
    const entityType = own || named === context.counted ? undefined : named;
    const path = isRoot ? key : `${above}.${key}`;
    const sets = group.flatMap(selectionOf);
    // Below a row counting starts again; within a page its rows count with it.
    const counted = declaration(inner) === undefined ? (entityType ?? context.counted) : undefined;
    const children = collect({ schema, document, own, counted }, inner, sets, path);
    if (entityType === undefined && children.length === 0) return [];
    const pageKeys = sets
      .flatMap((one) => fieldsOf(context, inner, one))
      .filter(({ node }) => pageLists.includes(node.name.value))
      .map(({ node }) => keyOf(node));
    const idKey = sureId(context, inner, group);
    return {
      key,
      path,
      nodes: [first.node, ...others.map(({ node }) => node)],
      entityType: entityType ?? null,
      pageKeys: page.length === 0 ? null : pageKeys,
      idKey,
      lacksId: idKey === null && "id" in inner.getFields(),
      rows: page.length === 0 ? [] : rowsOf(context, inner, sets),
      children,
    };
  });
}

/** The fields of a page that return its rows, directly or through edges. */
function rowsOf(
  context: Around,
  page: GraphQLObjectType,
  selected: readonly Selected[],
): PageRows[] {
  const rows = selected
    .flatMap((one) => fieldsOf(context, page, one))
    .filter(({ node }) => pageLists.includes(node.name.value))
    .flatMap((list) => {
      const key = keyOf(list.node);
      if (list.node.name.value !== "edges") return [{ keys: [key], row: list }];
      const edge = getNamedType(page.getFields()["edges"]?.type);
      if (!isObjectType(edge)) return [];
      return selectionOf(list)
        .flatMap((one) => fieldsOf(context, edge, one))
        .filter(({ node }) => node.name.value === "node")
        .map((row) => ({ keys: [key, keyOf(row.node)], row }));
    });
  return [...Map.groupBy(rows, ({ keys }) => keys.join(" ")).values()].map((group): PageRows => {
    const [{ keys, row } = { keys: [], row: null }] = group;
    const type = getNamedType(row?.type.getFields()[row.node.name.value]?.type);
    const asked = group.map((one) => one.row);
    const nodes = asked.map(({ node }) => node);
    if (!isObjectType(type)) return { nodes, keys, idKey: null, lacksId: false };
    const idKey = sureId(context, type, asked);
    return { nodes, keys, idKey, lacksId: idKey === null && "id" in type.getFields() };
  });
}

/** The response name of an id that is present under all conditions. */
function sureId(context: Around, type: GraphQLObjectType, asked: readonly Asked[]): string | null {
  const places = asked.map((field) => ({
    conditional: field.conditional,
    keys: selectionOf(field)
      .flatMap(({ set }) => fieldsOf(context, type, { set, conditional: false }))
      .filter(({ node, conditional }) => node.name.value === "id" && !conditional)
      .map(({ node }) => keyOf(node)),
  }));
  const isSure = (key: string) =>
    places.some(({ keys, conditional }) => !conditional && keys.includes(key)) ||
    places.every(({ keys }) => keys.includes(key));
  return places.flatMap(({ keys }) => keys).find(isSure) ?? null;
}

function selectionOf({ node, conditional }: Asked): Selected[] {
  return node.selectionSet ? [{ set: node.selectionSet, conditional }] : [];
}

function keyOf(node: FieldNode): string {
  return node.alias?.value ?? node.name.value;
}

/** The fields of a selection, with fragments expanded. */
function fieldsOf(
  context: Around,
  type: GraphQLObjectType,
  { set, conditional }: Selected,
): Asked[] {
  const { schema, document } = context;
  return set.selections.flatMap((node) => {
    const isConditional = conditional || (node.directives?.some(isCondition) ?? false);
    if (node.kind === Kind.FIELD) return [{ type, node, conditional: isConditional }];
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
    return fieldsOf(context, isObjectType(condition) ? condition : type, {
      set: fragment.selectionSet,
      conditional: isConditional,
    });
  });
}

function declaration(of: { extensions: Readonly<Record<string, unknown>> }): string | undefined {
  return (of.extensions.office as { auditReads?: string } | undefined)?.auditReads;
}

/** The entity type declared by the rows of a page. */
function declarationOfRows(page: GraphQLObjectType, lists: readonly string[]): string | undefined {
  const field = page.getFields()[lists[0] ?? ""];
  if (field === undefined) return undefined;
  const rows = getNamedType(field.type);
  return isObjectType(rows) ? declaration(rows) : undefined;
}
