import { expect, test } from "@jest/globals";
import { type DocumentNode, parse } from "graphql";
import { executeRest } from "../../src/graphql/partialAnswer.ts";

const whole = parse("{ products { id } users { id } }");
const refused = { rest: parse("{ users { id } }"), texts: new Map(), isRefused: true } as const;

test("A query whose refused fields have been allowed meanwhile is executed as a whole.", async () => {
  const executed: DocumentNode[] = [];
  const run = (answer: (document: DocumentNode) => object) =>
    executeRest(refused, whole, (document) => {
      executed.push(document);
      return Promise.resolve(answer(document));
    });
  const forbidden = { data: null, errors: ["forbidden"] };
  expect(await run(() => forbidden)).toBe(forbidden);
  expect(executed.splice(0)).toEqual([refused.rest]);
  const all = { data: { products: [], users: [] } };
  expect(await run((document) => (document === whole ? all : { data: { users: [] } }))).toBe(all);
  expect(executed).toEqual([refused.rest, whole]);
});
