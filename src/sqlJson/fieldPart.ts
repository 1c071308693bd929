import {
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  getArgumentValues,
} from "graphql";
import type { SQL } from "postgraphile/pg-sql2";
import type { Fragments } from "../graphql/collectFields.ts";
import type { BindNth } from "../query/bind.ts";
import { type Text, nullIfIncomplete, objectJson } from "./jsonText.ts";
import { listPart } from "./listPart.ts";
import { type Compilation, type FieldPart, rowJson } from "./rowJson.ts";
import { type Row, listJson, oneJson } from "./rows.ts";
import { UnsupportedSelection, assertOnly, typeOf } from "./selection.ts";
import { type Members, sqlJsonFieldOf } from "./sqlJsonField.ts";

type Arguments = Record<string, unknown>;
type Field = GraphQLField<unknown, unknown>;

/** Resolves the arguments of fields by key. @throws Error where the request is wrong or Grafast has to answer */
export function fieldParts(
  fields: Iterable<readonly [string, readonly [Field, FieldNode]]>,
  variables: Arguments,
): ReadonlyMap<string, FieldPart> {
  return new Map(
    Array.from(fields, ([key, [field, node]]) => {
      return [key, fieldPart(field, getArgumentValues(field, node, variables))];
    }),
  );
}

/** The input of a compilation of fields whose arguments are resolved; `parameter` is the nth one of a field. */
export function compilationOf(
  fragments: Fragments,
  parts: ReadonlyMap<string, FieldPart>,
  parameter: (key: string, n: number) => SQL,
): Compilation {
  const compilation: Compilation = {
    fragments,
    parts: new Map(
      Array.from(parts, ([key, { json }]) => {
        const bind: BindNth = (n) => parameter(key, n);
        return [key, (node, within) => json(compilation, node, bind, within)];
      }),
    ),
  };
  return compilation;
}

/** @throws Error where the request is wrong or Grafast has to answer */
function fieldPart(field: Field, args: Arguments): FieldPart {
  const { name } = field;
  const type = typeOf(field);
  const sqlJson = sqlJsonFieldOf(field.extensions);
  switch (sqlJson?.kind) {
    case "list":
    case "page":
      return listPart(sqlJson, field, args);
    case "rootOne": {
      const { resource, matches } = sqlJson;
      assertOnly(args, sqlJson.arguments);
      const values = sqlJson.arguments.map((argument) => args[argument]);
      if (!values.every((value) => typeof value === "string" || typeof value === "number"))
        throw new UnsupportedSelection(name);
      return {
        shape: "",
        values,
        json(compilation, node, bind) {
          const object = (row: Row) => rowJson(compilation, type, node, row);
          const rows = (row: Row) => ({ conditions: [matches(row, bind)] });
          const part = { from: resource.from as SQL, order: [], rows };
          return nullIfIncomplete([oneJson(name, object, part)]);
        },
      };
    }
    case "rootObject":
      return {
        shape: "",
        values: sqlJson.values(args),
        json: (compilation, node, bind) =>
          membersJson(compilation, type, node, sqlJson.members(bind)),
      };
    default:
      throw new UnsupportedSelection(name);
  }
}

function membersJson(
  compilation: Compilation,
  type: GraphQLObjectType,
  selected: FieldNode,
  members: Members,
): Text {
  return objectJson(compilation.fragments, type, selected, (field, node) => {
    const name = node.name.value;
    const member = members[name];
    if (!member || node.arguments?.length) throw new UnsupportedSelection(name);
    if ("text" in member) return [member.text];
    const object = (row: Row) => rowJson(compilation, typeOf(field), node, row);
    return listJson(name, object, { from: member.from, order: [] });
  });
}
