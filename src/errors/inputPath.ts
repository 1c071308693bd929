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

/**
 * Where a value stands that is visited, told by all that it stands in: its argument and the input fields, such as
 * `["input", "title"]`.
 */
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

/** Where a node of the document stands, such as `["input", "title"]`; empty for what is no input. */
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
 * Where an input stands that was sent as `$given.title`: in the argument that the document passes the variable to, such as
 * `["input", "title"]`, whatever the variable is called. A variable that is passed to nothing goes by its own name.
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

/** Documents by their sources: an answer can hold many errors about one of them. */
const parsed = new WeakMap<Source, DocumentNode>();

/** The same for a variable that its definition tells, from which the document is found again. */
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

/** The first argument that takes a variable, in the operation itself or in the fragments beside it. */
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
