/** Marks the fields whose scope declares a secret, for `selectsSecret`. */
export const SecretFieldsPlugin: GraphileConfig.Plugin = {
  name: "SecretFieldsPlugin",
  version: "1.0.0",
  schema: {
    hooks: {
      GraphQLObjectType_fields_field(field, _build, { scope }) {
        return scope.secret
          ? { ...field, extensions: { ...field.extensions, secret: true } }
          : field;
      },
    },
  },
};
