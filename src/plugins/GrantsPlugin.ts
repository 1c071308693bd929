import { entityPermissions } from "pg-introspection";

/**
 * Leaves functions that the request role may not execute out of sight: no grant, no GraphQL. Without this, helpers, triggers
 * and the worker's functions would be looked at, too, and their parameter types asked for. Likewise a column that the
 * database computes is marked as one that nobody writes.
 */
export const GrantsPlugin: GraphileConfig.Plugin = {
  name: "GrantsPlugin",
  version: "1.0.0",
  before: ["PgProceduresPlugin"],
  gather: {
    hooks: {
      pgIntrospection_introspection(_info, { introspection }) {
        const role = introspection.getCurrentUser();
        if (!role) throw new Error("The introspection does not say as which role it was made");
        const { procs } = introspection;
        const open = procs.filter(
          (proc) => entityPermissions(introspection, proc, role, true).execute,
        );
        // In place: the list has been handed on already.
        procs.splice(0, procs.length, ...open);
      },
      pgCodecs_attribute(_info, { pgAttribute, attribute }) {
        if (!pgAttribute.attgenerated) return;
        attribute.extensions = {
          ...attribute.extensions,
          isInsertable: false,
          isUpdatable: false,
        };
      },
    },
  },
};
