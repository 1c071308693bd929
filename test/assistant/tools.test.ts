import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { buildSchema, parse, validate } from "graphql";
import { readTools } from "../../src/assistant/readTools.ts";
import { writeTools } from "../../src/assistant/writeTools.ts";

const schema = readFile(join(import.meta.dirname, "../../schema.graphql"), "utf8").then((sdl) =>
  buildSchema(sdl),
);

test.each(Object.entries({ ...readTools, ...writeTools }))(
  "The operation of %s is one that the service understands",
  async (_name, { operation }) => {
    expect(validate(await schema, parse(operation))).toEqual([]);
  },
);
