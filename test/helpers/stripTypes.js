import { stripTypeScriptTypes } from "node:module";

/** Jest's transform: the types are stripped by Node itself, just as it does when it runs the sources in production. */
export default {
  process(source) {
    return { code: stripTypeScriptTypes(source, { mode: "strip" }) };
  },
};
