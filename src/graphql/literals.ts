import { type ASTNode, type DocumentNode, Kind, visit } from "graphql";
import { PublicError } from "../errors/PublicError.ts";
import { assertWithinLimit } from "./assertWithinLimit.ts";

const directiveLimit = 50;
const literalDepthLimit = 20;

/**
 * Refuses a document with too many directives, with literals nested too deeply, or with a text that the database cannot hold.
 * @throws PublicError BAD_USER_INPUT
 */
export function checkLiterals(document: DocumentNode): void {
  let directives = 0;
  let depth = 0;
  let deepest = 0;
  const nested = {
    enter() {
      deepest = Math.max(deepest, ++depth);
    },
    leave() {
      depth--;
    },
  };
  visit(document, {
    Directive() {
      directives++;
    },
    ListValue: nested,
    ObjectValue: nested,
    StringValue(node, _key, parent, _path, ancestors) {
      if (isStorable(node.value)) return;
      const path = inputPathAt(node, parent, ancestors);
      throw new PublicError("BAD_USER_INPUT", brokenText(path.join(".")), { path });
    },
  });
  assertWithinLimit("directives", directives, directiveLimit);
  assertWithinLimit("levels of nesting in a literal", deepest, literalDepthLimit);
}

/** Whether PostgreSQL can hold a text as it is. */
export function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/** Says that the text at `place` cannot be stored. */
export function brokenText(place: string): string {
  return `${place} holds a character that no text may hold (NUL, or half of a surrogate pair)`;
}

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
