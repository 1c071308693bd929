import { entityPermissions } from "pg-introspection";

/**
 * Hides functions that the request role may not execute: no grant, no GraphQL. Otherwise helpers, triggers and the
 * worker's functions would be inspected with their parameter types. Generated columns are marked as read only.
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
        // In place: the list was already passed on.
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
