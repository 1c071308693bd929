import { type ASTNode, type DocumentNode, Kind, visit } from "graphql";

/**
 * Where a value stands that is visited, told by all that it stands in: its argument and the input fields, such as
 * `["input", "title"]`.
 */
export function inputPathAt(
  value: ASTNode,
  parent: ASTNode | readonly ASTNode[] | undefined,
  ancestors: readonly (ASTNode | readonly ASTNode[])[],
): (string | number)[] {
  const line = [...ancestors, parent, value];
  const path: (string | number)[] = [];
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
export function inputPathOf(document: DocumentNode, sought: ASTNode): (string | number)[] {
  let found: (string | number)[] = [];
  visit(document, {
    enter(node, _key, parent, _path, ancestors) {
      if (node === sought) found = inputPathAt(node, parent, ancestors);
    },
  });
  return found;
}
