import {
  type DocumentNode,
  type FieldNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  getNamedType,
  isObjectType,
} from "graphql";
import {
  type Collected,
  type Fragments,
  collectFields,
  fragmentsOf,
} from "../graphql/collectFields.ts";

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
  const fragments = fragmentsOf(document);
  const places = root
    ? collect({ fragments }, root, collectFields(fragments, operation.selectionSet), "")
    : [];
  found.set(name, places);
  return places;
}

interface Around {
  fragments: Fragments;
  /** Whether the object is the caller's own. */
  own?: boolean;
  /** The entity type that the containing object counts already. */
  counted?: string | undefined;
}

function collect(
  context: Around,
  type: GraphQLObjectType,
  fields: readonly Collected[],
  above: string,
): Place[] {
  const { fragments } = context;
  const isRoot = above === "";
  const groups = Map.groupBy(fields, ({ key }) => key);

  return [...groups].flatMap(([key, group]) => {
    const [first, ...others] = group;
    const field = first && type.getFields()[first.node.name.value];
    const inner = field && getNamedType(field.type);
    if (!first || !inner || !isObjectType(inner)) return [];
    const declared = declaration(field);
    const page = pageLists.filter((name) => name in inner.getFields());
    const ofType = declaration(inner) ?? declarationOfRows(inner, page);
    const own = declared === ownReads || (declared === ownReadsBelow && context.own === true);
    const named = own || declared === ownReadsBelow ? ofType : (declared ?? ofType);
    const entityType = own || named === context.counted ? undefined : named;
    const path = isRoot ? key : `${above}.${key}`;
    const selected = group.flatMap((one) => below(fragments, one));
    // Below a row counting starts again; within a page its rows count with it.
    const counted = declaration(inner) === undefined ? (entityType ?? context.counted) : undefined;
    const children = collect({ fragments, own, counted }, inner, selected, path);
    if (entityType === undefined && children.length === 0) return [];
    const pageKeys = selected
      .filter(({ node }) => pageLists.includes(node.name.value))
      .map((one) => one.key);
    const idKey = unconditionalIdKey(fragments, group);
    return {
      key,
      path,
      nodes: [first.node, ...others.map(({ node }) => node)],
      entityType: entityType ?? null,
      pageKeys: page.length === 0 ? null : pageKeys,
      idKey,
      lacksId: idKey === null && "id" in inner.getFields(),
      rows: page.length === 0 ? [] : rowsOf(fragments, inner, selected),
      children,
    };
  });
}

/** The fields of a page that return its rows, directly or through edges. */
function rowsOf(
  fragments: Fragments,
  page: GraphQLObjectType,
  selected: readonly Collected[],
): PageRows[] {
  const rows = selected
    .filter(({ node }) => pageLists.includes(node.name.value))
    .flatMap((list) => {
      const type = typeOf(page, list);
      if (list.node.name.value !== "edges") return [{ keys: [list.key], row: list, type }];
      return below(fragments, list)
        .filter(({ node }) => node.name.value === "node")
        .map((row) => ({ keys: [list.key, row.key], row, type: type && typeOf(type, row) }));
    });
  return [...Map.groupBy(rows, ({ keys }) => keys.join(" ")).values()].map((group): PageRows => {
    const [{ keys, type } = { keys: [], type: null }] = group;
    const asked = group.map(({ row }) => row);
    const idKey = type && unconditionalIdKey(fragments, asked);
    const lacksId = type !== null && idKey === null && "id" in type.getFields();
    return { nodes: asked.map(({ node }) => node), keys, idKey, lacksId };
  });
}

/** The object type of a field; null for another one. */
function typeOf(type: GraphQLObjectType, { node }: Collected): GraphQLObjectType | null {
  const inner = getNamedType(type.getFields()[node.name.value]?.type);
  return isObjectType(inner) ? inner : null;
}

/** The response name of an id that is present under all conditions. */
function unconditionalIdKey(fragments: Fragments, asked: readonly Collected[]): string | null {
  const places = asked.map((field) => ({
    conditional: field.conditional,
    keys: below(fragments, { ...field, conditional: false })
      .filter(({ node, conditional }) => node.name.value === "id" && !conditional)
      .map(({ key }) => key),
  }));
  const isUnconditional = (key: string) =>
    places.some(({ keys, conditional }) => !conditional && keys.includes(key)) ||
    places.every(({ keys }) => keys.includes(key));
  return places.flatMap(({ keys }) => keys).find(isUnconditional) ?? null;
}

/** The fields selected of a field's object. */
function below(fragments: Fragments, { node, conditional }: Collected): Collected[] {
  return node.selectionSet ? collectFields(fragments, node.selectionSet, conditional) : [];
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
