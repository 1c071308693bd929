import {
  type DocumentNode,
  type GraphQLField,
  type GraphQLSchema,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from "graphql";

declare global {
  namespace GraphileBuild {
    interface ScopeObjectFieldsField {
      /** The value is a credential: its answer is not compressed. Declared at the field. */
      secret?: boolean;
    }
  }
}

declare module "graphql" {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    /** Set from the scope `secret`. */
    secret?: boolean;
  }
}

/** Whether a document selects a field with a secret, in any of its operations and fragments. */
export function selectsSecret(document: DocumentNode, schema: GraphQLSchema): boolean {
  const types = new TypeInfo(schema);
  let found = false;
  visit(
    document,
    visitWithTypeInfo(types, {
      Field() {
        const field: GraphQLField<unknown, unknown> | null | undefined = types.getFieldDef();
        found ||= field?.extensions.secret === true;
      },
    }),
  );
  return found;
}
