import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
  Kind,
  getNamedType,
  getNullableType,
  isCompositeType,
  isListType,
  isObjectType,
} from "graphql";
import { OfficeError } from "../errors.ts";

/** Bounds of a document, checked before anything plans it: planning a huge one would block the whole server. */
export interface DocumentLimits {
  depth: number;
  aliases: number;
  fields: number;
  rootFields: number;
  cost: number;
}

/** What a document amounts to, with its fragments expanded. */
export interface Measure {
  fields: number;
  depth: number;
  aliases: number;
  /** Estimated number of objects that the answer can hold, from page sizes. */
  cost: number;
}

const directiveLimit = 50;
const fragmentLimit = 50;
/** Introspection queries of the usual tools nest `ofType` deeply and cost nothing. */
const introspectionDepth = 20;
const defaultPage = 50;
const largestPage = 250;
const listGuess = 10;

/**
 * Measures every operation of a document and refuses one beyond the limits, in time linear to the document: each fragment is
 * measured once, however often it is spread.
 * @throws OfficeError BAD_USER_INPUT that names the bound, its value and what was sent
 */
export function checkDocument(
  document: DocumentNode,
  schema: GraphQLSchema,
  limits: DocumentLimits,
): void {
  const fragments = new Map<string, FragmentDefinitionNode>();
  const operations: OperationDefinitionNode[] = [];
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION)
      fragments.set(definition.name.value, definition);
    else if (definition.kind === Kind.OPERATION_DEFINITION) operations.push(definition);
  }
  refuseBeyond("fragments", fragments.size, fragmentLimit);
  refuseBeyond("operations", operations.length, fragmentLimit);
  const measurer = makeMeasurer(schema, fragments);
  for (const operation of operations) {
    const rootType = schema.getRootType(operation.operation) ?? null;
    const { introspection, rest } = splitIntrospection(operation.selectionSet);
    const total = measurer.measure(rest, rootType);
    const meta = measurer.measure(introspection, rootType);
    refuseBeyond("levels of nesting", total.depth, limits.depth);
    refuseBeyond("levels of nesting", meta.depth, Math.max(limits.depth, introspectionDepth));
    refuseBeyond("aliases", total.aliases + meta.aliases, limits.aliases);
    refuseBeyond("fields", total.fields + meta.fields, limits.fields);
    refuseBeyond("root fields", measurer.rootFields(operation.selectionSet), limits.rootFields);
    refuseBeyond("estimated objects (see `first`)", total.cost, limits.cost);
  }
  refuseBeyond("directives", measurer.directives(document), directiveLimit);
}

function refuseBeyond(what: string, found: number, limit: number): void {
  if (found > limit)
    throw new OfficeError(
      "BAD_USER_INPUT",
      `The document has ${Math.min(found, 1e15)} ${what}; at most ${limit} are allowed`,
      {
        limit,
      },
    );
}

function splitIntrospection(selectionSet: SelectionSetNode) {
  const isMeta = (node: SelectionSetNode["selections"][number]) =>
    node.kind === Kind.FIELD && node.name.value.startsWith("__");
  return {
    introspection: { ...selectionSet, selections: selectionSet.selections.filter(isMeta) },
    rest: { ...selectionSet, selections: selectionSet.selections.filter((node) => !isMeta(node)) },
  };
}

function makeMeasurer(
  schema: GraphQLSchema,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
) {
  const measured = new Map<string, Measure>();
  const nothing: Measure = { fields: 0, depth: 0, aliases: 0, cost: 0 };

  function measureFragment(name: string): Measure {
    const known = measured.get(name);
    if (known) return known;
    // A fragment that contains itself is refused by validation; here it must only not loop.
    measured.set(name, nothing);
    const fragment = fragments.get(name);
    const type = fragment ? schema.getType(fragment.typeCondition.name.value) : undefined;
    const result = fragment
      ? measure(fragment.selectionSet, isCompositeType(type) ? type : null)
      : nothing;
    measured.set(name, result);
    return result;
  }

  function measureField(node: FieldNode, parent: GraphQLCompositeType | null): Measure {
    const field = isObjectType(parent) ? parent.getFields()[node.name.value] : undefined;
    const named = field ? getNamedType(field.type) : null;
    const inner = node.selectionSet
      ? measure(node.selectionSet, isCompositeType(named) ? named : null)
      : nothing;
    const isList = field !== undefined && isListType(getNullableType(field.type));
    const paged = field?.args.some((arg) => arg.name === "first") ?? false;
    const times = paged ? pageSize(node, isList) : isList && !isPageContent(node) ? listGuess : 1;
    return {
      fields: inner.fields + 1,
      depth: inner.depth + 1,
      aliases: inner.aliases + (node.alias ? 1 : 0),
      cost: times * (inner.cost + (isCompositeType(named) ? 1 : 0)),
    };
  }

  function measure(selectionSet: SelectionSetNode, parent: GraphQLCompositeType | null): Measure {
    const sum = { ...nothing };
    for (const node of selectionSet.selections) {
      let part: Measure;
      if (node.kind === Kind.FIELD) part = measureField(node, parent);
      else if (node.kind === Kind.FRAGMENT_SPREAD) part = measureFragment(node.name.value);
      else {
        const type = node.typeCondition ? schema.getType(node.typeCondition.name.value) : parent;
        part = measure(node.selectionSet, isCompositeType(type) ? type : null);
      }
      sum.fields += part.fields;
      sum.aliases += part.aliases;
      sum.cost += part.cost;
      sum.depth = Math.max(sum.depth, part.depth);
    }
    return sum;
  }

  const rootCounts = new Map<string, number>();
  function rootFields(selectionSet: SelectionSetNode): number {
    return selectionSet.selections.reduce((count, node) => {
      if (node.kind === Kind.FIELD) return count + 1;
      if (node.kind === Kind.INLINE_FRAGMENT) return count + rootFields(node.selectionSet);
      const name = node.name.value;
      if (!rootCounts.has(name)) {
        rootCounts.set(name, 0);
        const fragment = fragments.get(name);
        rootCounts.set(name, fragment ? rootFields(fragment.selectionSet) : 0);
      }
      return count + (rootCounts.get(name) ?? 0);
    }, 0);
  }

  function directives(document: DocumentNode): number {
    const count = (node: { directives?: readonly unknown[] }) => node.directives?.length ?? 0;
    const within = (selectionSet: SelectionSetNode | undefined): number =>
      (selectionSet?.selections ?? []).reduce(
        (sum, node) => sum + count(node) + ("selectionSet" in node ? within(node.selectionSet) : 0),
        0,
      );
    return document.definitions.reduce(
      (sum, node) => sum + count(node) + ("selectionSet" in node ? within(node.selectionSet) : 0),
      0,
    );
  }

  return { measure, rootFields, directives };
}

/** The lists inside of a connection hold as many objects as its page, which is counted at the connection. */
function isPageContent(node: FieldNode): boolean {
  return node.name.value === "nodes" || node.name.value === "edges";
}

function pageSize(node: FieldNode, isList: boolean): number {
  for (const argument of node.arguments ?? []) {
    if (argument.name.value !== "first" && argument.name.value !== "last") continue;
    // A variable could hold any allowed size.
    if (argument.value.kind !== Kind.INT) return largestPage;
    return Math.min(Math.max(Number(argument.value.value), 0), largestPage * 4);
  }
  return isList ? listGuess : defaultPage;
}
