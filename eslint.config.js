import eslint from "@eslint/js";
import tseslint from "typescript-eslint";

const environmentMessage =
  "Only src/config.ts and the entry files read the environment. Take the value as a parameter.";

export default tseslint.config(
  { ignores: ["node_modules/", "data/", "coverage/", "admin/dist/"] },
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  eslint.configs.recommended,
  tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ["*.js", "*.mjs"] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      "@typescript-eslint/consistent-type-imports": [
        "error",
        { fixStyle: "separate-type-imports" },
      ],
      "@typescript-eslint/no-import-type-side-effects": "error",
      // Runs out of stack on types that refer to themselves, such as those of graphql-js.
      "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true },
      ],
      // The libraries' types are extended by `declare global { namespace ... }`, and in no other way.
      "@typescript-eslint/no-namespace": ["error", { allowDeclarations: true }],
      // Numbers in messages are wanted; anything else must be made text knowingly.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": [
        "error",
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      "@typescript-eslint/no-unused-vars": [
        "error",
        { argsIgnorePattern: "^_", varsIgnorePattern: "^_", caughtErrors: "none" },
      ],
      // What a library or the network promises may still be missing: such checks stay.
      "@typescript-eslint/no-unnecessary-condition": "off",
      // `!= null` asks for null and undefined at once, which is what an absent input is.
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-restricted-imports": [
        "error",
        { paths: [{ name: "node:process", message: environmentMessage }] },
      ],
      "no-restricted-properties": [
        "error",
        { object: "process", property: "env", message: environmentMessage },
      ],
      "no-restricted-syntax": [
        "error",
        {
          selector: "ExportDefaultDeclaration",
          message: "Export by name, so that a thing has one name everywhere.",
        },
        { selector: "ExportAllDeclaration", message: "No barrels: import from the file itself." },
        {
          selector: "VariableDeclarator[id.type='ObjectPattern'][init.name='process']",
          message: environmentMessage,
        },
      ],
    },
  },
  {
    files: [
      "src/config.ts",
      "dev/*.ts",
      "src/server.ts",
      "src/worker.ts",
      "src/commands/*.ts",
      "src/migration/*.ts",
    ],
    rules: { "no-restricted-properties": "off", "no-restricted-imports": "off" },
  },
  {
    files: ["test/helpers/**", "test/*.ts", "bench/**"],
    rules: { "no-restricted-properties": "off", "no-restricted-imports": "off" },
  },
  {
    // PostGraphile types its codecs and its build object with `any`: the edge of a library.
    files: ["src/{audit,paging,plugins,schema,sqlJson}/**", "src/graphile.config.ts"],
    rules: {
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-return": "off",
      "@typescript-eslint/no-unsafe-enum-comparison": "off",
    },
  },
  {
    files: ["test/helpers/**/*.js"],
    languageOptions: { globals: { process: "readonly", URL: "readonly" } },
  },
  {
    files: ["test/**", "bench/**"],
    rules: {
      // Jest's asymmetric matchers are typed `any`, and so are the answers that a test takes apart.
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-return": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-non-null-assertion": "off",
      // Texts are taken apart into code points, and errors compared as plain objects, on purpose.
      "@typescript-eslint/no-misused-spread": "off",
    },
  },
  {
    files: [
      "*.config.{js,mjs,ts}",
      "src/graphile.config.ts",
      "test/**/globalSetup.{js,ts}",
      "test/**/globalTeardown.{js,ts}",
      "test/helpers/jest/*.js",
      "test/helpers/longestFirst.js",
    ],
    rules: { "no-restricted-syntax": "off" },
  },
  { files: ["**/*.{js,mjs}"], extends: [tseslint.configs.disableTypeChecked] },
);
