import { type DocumentNode, visit } from "graphql";
import { inputPathAt } from "../errors/inputPath.ts";
import { badUserInput } from "../errors/PublicError.ts";
import { assertWithinLimit } from "./assertWithinLimit.ts";

const directiveLimit = 50;
const literalDepthLimit = 20;

/**
 * Rejects a document with too many directives, too deeply nested literals, or text that PostgreSQL cannot store.
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
      throw badUserInput(invalidTextMessage(path.join(".")), { path });
    },
  });
  assertWithinLimit("directives", directives, directiveLimit);
  assertWithinLimit("levels of nesting in a literal", deepest, literalDepthLimit);
}

/** Whether PostgreSQL can store a text. */
export function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/** The message for a text at `place` that cannot be stored. */
export function invalidTextMessage(place: string): string {
  return `${place} holds a character that no text may hold (NUL, or half of a surrogate pair)`;
}
