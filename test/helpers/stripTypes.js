import { stripTypeScriptTypes } from "node:module";

/** Jest transform: Node itself strips the types, as in production. */
export default {
  process(source) {
    return { code: stripTypeScriptTypes(source, { mode: "strip" }) };
  },
};
