import {
  type ASTNode,
  type DocumentNode,
  Kind,
  type Source,
  type VariableDefinitionNode,
  getOperationAST,
  parse,
  visit,
} from "graphql";

type Path = (string | number)[];

/** The path of a value during `visit`, by its argument and input fields, such as `["input", "title"]`. */
export function inputPathAt(
  value: ASTNode,
  parent: ASTNode | readonly ASTNode[] | undefined,
  ancestors: readonly (ASTNode | readonly ASTNode[])[],
): Path {
  const line = [...ancestors, parent, value];
  const path: Path = [];
  line.forEach((node, index) => {
    if (!isNode(node)) return;
    if (node.kind === Kind.ARGUMENT || node.kind === Kind.OBJECT_FIELD) path.push(node.name.value);
    const [list, items] = [line[index - 2], line[index - 1]];
    if (isNode(list) && list.kind === Kind.LIST && items && !isNode(items))
      path.push(items.indexOf(node));
  });
  return path;
}

function isNode(node: ASTNode | readonly ASTNode[] | undefined): node is ASTNode {
  return node !== undefined && "kind" in node;
}

/** The path of a node of the document, such as `["input", "title"]`; empty outside arguments. */
export function inputPathOf(document: DocumentNode, sought: ASTNode): Path {
  let found: Path = [];
  visit(document, {
    enter(node, _key, parent, _path, ancestors) {
      if (node === sought) found = inputPathAt(node, parent, ancestors);
    },
  });
  return found;
}

/**
 * The path of a value that was sent in a variable, such as `$values.title`: the argument that takes the variable, then
 * the rest, as in `["input", "title"]`. An unused variable keeps its own name.
 */
export function pathInDocument(
  document: DocumentNode,
  operationName: string | null | undefined,
  [variable, ...rest]: readonly (string | number)[],
): Path {
  if (variable === undefined) return [];
  const operation = getOperationAST(document, operationName);
  return [...placeOf(document, operation ?? null, String(variable)), ...rest];
}

/** Parsed documents by source: a response can hold many errors about one document. */
const parsed = new WeakMap<Source, DocumentNode>();

/** As {@link pathInDocument}, for a variable's definition, whose source holds the document. */
export function pathByDefinition(
  definition: VariableDefinitionNode,
  [variable, ...rest]: readonly (string | number)[],
): Path {
  const source = definition.loc?.source;
  if (source === undefined || variable === undefined)
    return [...(variable ? [variable] : []), ...rest];
  let document = parsed.get(source);
  if (!document) parsed.set(source, (document = parse(source)));
  const start = definition.loc?.start;
  const operation = document.definitions.find(
    (node) =>
      node.kind === Kind.OPERATION_DEFINITION &&
      node.variableDefinitions?.some((one) => one.loc?.start === start),
  );
  return [...placeOf(document, operation ?? null, String(variable)), ...rest];
}

/** The first argument that takes a variable, in the operation or in a fragment. */
function placeOf(
  document: DocumentNode,
  operation: DocumentNode["definitions"][number] | null,
  name: string,
): Path {
  const fragments = document.definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION);
  let found: Path | undefined;
  for (const definition of operation ? [operation, ...fragments] : fragments)
    visit(definition, {
      Directive: () => false,
      VariableDefinition: () => false,
      Variable(node, _key, parent, _path, ancestors) {
        if (node.name.value === name) found ??= inputPathAt(node, parent, ancestors);
      },
    });
  return found?.length ? found : [name];
}
