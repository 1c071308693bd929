import {
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type OperationDefinitionNode,
  Kind,
  getNamedType,
  isObjectType,
  print,
} from "graphql";
import type { SQL } from "postgraphile/pg-sql2";
import type { Fragments } from "../graphql/collectFields.ts";
import type { Bindable, BindNth } from "../query/bind.ts";
import { type Text, errorIfIncomplete, nullIfIncomplete, objectJson } from "./jsonText.ts";
import { type RowCondition, type Row, listJson, oneJson } from "./rows.ts";
import { UnsupportedSelection, fieldOf, fieldsOf, typeOf } from "./selection.ts";
import { sqlJsonFieldOf } from "./sqlJsonField.ts";

/** The input of a compilation. */
export interface Compilation {
  fragments: Fragments;
  /**
   * The JSON of fields with resolved arguments: root fields by response key, others by {@link nestedKey}. `within` joins
   * their rows to a parent row.
   */
  parts: ReadonlyMap<string, (node: FieldNode, within?: RowCondition) => Text>;
}

/** A field with resolved arguments. */
export interface FieldPart {
  /** Equal for all arguments that the same SQL serves. */
  shape: string;
  /** The parameters of that SQL. */
  values: readonly Bindable[];
  /** Whether the same arguments always resolve to the same values; relative dates do not. */
  isCacheable?: boolean;
  /**
   * Whether PostgreSQL must plan each execution. A kept plan suits a page or a total, but in a statement with both the
   * cost of the total decides, and the page would be found by sorting all matches.
   */
  usesCustomPlan?: boolean;
  /** The JSON of a node of the field; `bind` refers to a parameter, and `within` joins the rows to a parent row. */
  json: (compilation: Compilation, node: FieldNode, bind: BindNth, within?: RowCondition) => Text;
}

/** Identifies a field with its arguments, which resolve to the same values wherever they occur in a document. */
function nestedKey(type: GraphQLObjectType, node: FieldNode): string {
  const { name, arguments: args } = node;
  return `${type.name}.${print({ kind: Kind.FIELD, name, ...(args ? { arguments: args } : {}) })}`;
}

/** The pages and lists of related rows below a selection, by {@link nestedKey}. @throws UnsupportedSelection */
export function nestedFields(
  fragments: Fragments,
  type: GraphQLObjectType,
  selected: FieldNode | OperationDefinitionNode,
  found = new Map<string, [GraphQLField<unknown, unknown>, FieldNode]>(),
): typeof found {
  for (const node of fieldsOf(fragments, selected).values()) {
    if (!node.selectionSet) continue;
    const field = fieldOf(type, node);
    const sqlJson = sqlJsonFieldOf(field.extensions);
    const isList = sqlJson?.kind === "list" || sqlJson?.kind === "page";
    if (isList && sqlJson.join) found.set(nestedKey(type, node), [field, node]);
    const inner = getNamedType(field.type);
    if (isObjectType(inner)) nestedFields(fragments, inner, node, found);
  }
  return found;
}

/** The JSON of one row's object. @throws UnsupportedSelection */
export function rowJson(
  compilation: Compilation,
  type: GraphQLObjectType,
  selected: FieldNode,
  row: Row,
): Text {
  return objectJson(compilation.fragments, type, selected, (field, node) => {
    const name = node.name.value;
    const sqlJson = sqlJsonFieldOf(field.extensions);
    const object = (related: Row) => rowJson(compilation, typeOf(field), node, related);
    if (sqlJson?.kind === "list" || sqlJson?.kind === "page") {
      const { join } = sqlJson;
      const json = compilation.parts.get(nestedKey(type, node));
      if (!json || !join) throw new UnsupportedSelection(name);
      return json(node, (related) => join(row, related));
    }
    if (node.arguments?.length) throw new UnsupportedSelection("argument");
    switch (sqlJson?.kind) {
      case "value":
        return sqlJson.text(row);
      case "one": {
        const { resource, join, required } = sqlJson;
        const rows = (related: Row) => ({ conditions: [join(row, related)] });
        const found = oneJson(name, object, { from: resource.from as SQL, order: [], rows });
        return required ? errorIfIncomplete([found]) : nullIfIncomplete([found]);
      }
      case "computed": {
        const returned = (related: Row) => object({ ...related, isOfFunction: true });
        return listJson(name, returned, { from: sqlJson.call(row.whole()), order: [] });
      }
      default:
        throw new UnsupportedSelection(name);
    }
  });
}
