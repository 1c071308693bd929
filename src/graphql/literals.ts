import { type DocumentNode, visit } from "graphql";
import { inputPathAt } from "../errors/inputPath.ts";
import { badUserInput } from "../errors/PublicError.ts";
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
      throw badUserInput(brokenText(path.join(".")), { path });
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
