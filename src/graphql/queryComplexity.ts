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
} from "graphql";
import { checkLiterals } from "./literals.ts";
import { assertWithinLimit } from "./assertWithinLimit.ts";

declare module "graphql" {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    /** What a field costs beside its objects, in objects read. Declared at the field. */
    cost?: number;
  }
}

/** Limits of a document, checked before validation and planning: both are synchronous. */
export interface DocumentLimits {
  depth: number;
  aliases: number;
  fields: number;
  rootFields: number;
  cost: number;
}

/** The size of a selection with its fragments expanded. */
interface Measure {
  fields: number;
  depth: number;
  /** As `depth`, but fragments count as levels: planning recurses into them. */
  levels: number;
  aliases: number;
  /** Estimated number of objects in the response, from page sizes. */
  cost: number;
}

const fragmentLimit = 50;
const variableLimit = 200;
/** Validation compares each pair of fields with the same response name. */
const repeatLimit = 50;
/** Introspection queries of common tools nest `ofType` deeply and cost nothing. */
const introspectionDepth = 20;
// Estimates: what matters is that nested pages multiply.
/** Objects of a connection without a page size. */
const defaultPageSize = 50;
/** Objects of a page whose size is a variable: the largest allowed. */
const maxPageSize = 250;
/** Objects of a list without pages, such as the roles of a user. */
const assumedListSize = 10;
/** Keeps sums finite and comparable. */
const maxCount = 1e15;

/**
 * Measures each operation of a document and rejects those beyond the limits, in time linear in the document: each
 * fragment is measured once. Returns the estimated objects of each operation by name; `""` for one without a name.
 * @throws PublicError BAD_USER_INPUT with the limit, its value and the value sent
 */
export function checkDocument(
  document: DocumentNode,
  schema: GraphQLSchema,
  limits: DocumentLimits,
): ReadonlyMap<string, number> {
  const costs = new Map<string, number>();
  const fragments = new Map<string, FragmentDefinitionNode>();
  const operations: OperationDefinitionNode[] = [];
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION)
      fragments.set(definition.name.value, definition);
    else if (definition.kind === Kind.OPERATION_DEFINITION) operations.push(definition);
  }
  assertWithinLimit("fragments", fragments.size, fragmentLimit);
  assertWithinLimit("operations", operations.length, fragmentLimit);
  checkLiterals(document);
  const measurer = makeMeasurer(schema, fragments);
  for (const operation of operations) {
    assertWithinLimit("variables", operation.variableDefinitions?.length ?? 0, variableLimit);
    const rootType = schema.getRootType(operation.operation) ?? null;
    const { introspection, rest } = splitIntrospection(operation.selectionSet);
    const total = measurer.measure(rest, rootType);
    const meta = measurer.measure(introspection, rootType);
    assertWithinLimit("levels of nesting", total.depth, limits.depth);
    assertWithinLimit("levels of nesting", meta.depth, Math.max(limits.depth, introspectionDepth));
    assertWithinLimit(
      "levels of fragments",
      Math.max(total.levels, meta.levels),
      3 * Math.max(limits.depth, introspectionDepth),
    );
    assertWithinLimit("aliases", total.aliases + meta.aliases, limits.aliases);
    assertWithinLimit("fields", total.fields + meta.fields, limits.fields);
    assertWithinLimit(
      "root fields",
      measurer.rootFields(operation.selectionSet),
      limits.rootFields,
    );
    assertWithinLimit("estimated objects (see `first`)", total.cost, limits.cost);
    costs.set(operation.name?.value ?? "", total.cost);
  }
  // Validation also checks fragments that no operation uses.
  for (const name of fragments.keys()) measurer.measureFragment(name);
  assertWithinLimit("repetitions of fields", measurer.repeats(), repeatLimit);
  return costs;
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
  const nothing: Measure = { fields: 0, depth: 0, levels: 0, aliases: 0, cost: 0 };
  let repeated = 0;

  const typeNamed = (name: string) => {
    const type = schema.getType(name);
    return isCompositeType(type) ? type : null;
  };

  function measureFragment(name: string): Measure {
    const known = measured.get(name);
    if (known) return known;
    // Validation rejects a fragment cycle; here it must only end.
    measured.set(name, nothing);
    const fragment = fragments.get(name);
    const result = fragment
      ? measure(fragment.selectionSet, typeNamed(fragment.typeCondition.name.value))
      : nothing;
    measured.set(name, result);
    return result;
  }

  function measureField(node: FieldNode, parent: GraphQLCompositeType | null): Measure {
    const field = parent && "getFields" in parent ? parent.getFields()[node.name.value] : undefined;
    const named = field ? getNamedType(field.type) : null;
    const object = isCompositeType(named) ? named : null;
    const inner = node.selectionSet ? measure(node.selectionSet, object) : nothing;
    const isList = field !== undefined && isListType(getNullableType(field.type));
    const paged = field?.args.some((arg) => arg.name === "first") ?? false;
    const times = paged
      ? pageSize(node, isList)
      : isList && !isPageContent(node)
        ? assumedListSize
        : 1;
    return {
      fields: inner.fields + 1,
      depth: inner.depth + 1,
      levels: inner.levels + 1,
      aliases: inner.aliases + (node.alias ? 1 : 0),
      cost: Math.min(
        times * (inner.cost + (object ? 1 : 0)) + (field?.extensions.cost ?? 0),
        maxCount,
      ),
    };
  }

  /** @param keys response names at this level, of this selection and those around it */
  function measure(
    selectionSet: SelectionSetNode,
    parent: GraphQLCompositeType | null,
    keys = new Set<string>(),
  ): Measure {
    const sum = { ...nothing };
    for (const node of selectionSet.selections) {
      let part: Measure;
      if (node.kind === Kind.FIELD) {
        const key = node.alias?.value ?? node.name.value;
        if (keys.has(key)) repeated++;
        keys.add(key);
        part = measureField(node, parent);
      } else {
        const inner =
          node.kind === Kind.FRAGMENT_SPREAD
            ? measureFragment(node.name.value)
            : measure(
                node.selectionSet,
                node.typeCondition ? typeNamed(node.typeCondition.name.value) : parent,
                keys,
              );
        part = { ...inner, levels: inner.levels + 1 };
      }
      sum.fields = Math.min(sum.fields + part.fields, maxCount);
      sum.aliases = Math.min(sum.aliases + part.aliases, maxCount);
      sum.cost = Math.min(sum.cost + part.cost, maxCount);
      sum.depth = Math.max(sum.depth, part.depth);
      sum.levels = Math.max(sum.levels, part.levels);
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
      return Math.min(count + (rootCounts.get(name) ?? 0), maxCount);
    }, 0);
  }

  return { measure, measureFragment, rootFields, repeats: () => repeated };
}

/** The lists within a connection hold as many objects as its page, which the connection counts. */
function isPageContent(node: FieldNode): boolean {
  return node.name.value === "nodes" || node.name.value === "edges";
}

function pageSize(node: FieldNode, isList: boolean): number {
  for (const argument of node.arguments ?? []) {
    if (argument.name.value !== "first" && argument.name.value !== "last") continue;
    if (argument.value.kind !== Kind.INT) return maxPageSize;
    return Math.min(Math.max(Number(argument.value.value), 0), maxPageSize * 4);
  }
  return isList ? assumedListSize : defaultPageSize;
}
