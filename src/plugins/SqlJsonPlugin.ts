import { describeField } from "../sqlJson/sqlJsonField.ts";

/** Records for each field how the SQL-JSON path reads it. */
export const SqlJsonPlugin: GraphileConfig.Plugin = {
  name: "SqlJsonPlugin",
  version: "1.0.0",
  schema: {
    hooks: {
      GraphQLObjectType_fields_field(field, build, { scope }) {
        const sqlJson = describeField(build, scope);
        if (!sqlJson) return field;
        return {
          ...field,
          extensions: { ...field.extensions, sqlJson } as typeof field.extensions,
        };
      },
    },
  },
};
