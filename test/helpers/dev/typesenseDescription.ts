import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import formats from "ajv-formats";
import { parse } from "yaml";
import { typesenseDescription } from "../environment.ts";

/** One response of a search engine; `operation` is the name in the OpenAPI description. */
export interface Exchange {
  operation: string;
  status: number;
  body: unknown;
}

type Schema = Record<string, unknown>;

const ajv = new Ajv({ strict: false, allErrors: true });
formats.default(ajv);

const text = { type: "string" };
const whole = { type: "integer" };
const listOf = (items: Schema) => ({ type: "array", items });
const record = (properties: Record<string, Schema>, optional: Record<string, Schema> = {}) => ({
  type: "object",
  required: Object.keys(properties),
  properties: { ...properties, ...optional },
});
const problem = { ...record({ message: { type: "string", minLength: 1 } }), maxProperties: 1 };
const field = record(
  { name: text, type: text },
  { facet: { type: "boolean" }, optional: { type: "boolean" }, sort: { type: "boolean" } },
);
const collection = record({
  name: text,
  num_documents: { type: "integer", minimum: 0 },
  created_at: whole,
  fields: listOf(field),
  default_sorting_field: text,
});
const key = record(
  { id: whole, description: text, actions: listOf(text), collections: listOf(text) },
  { expires_at: whole },
);
const alias = record({ name: text, collection_name: text });
const result = record({
  found: whole,
  out_of: whole,
  page: whole,
  search_time_ms: whole,
  search_cutoff: { type: "boolean" },
  request_params: record({ collection_name: text, per_page: whole, q: text }),
  facet_counts: listOf(
    record({
      field_name: text,
      counts: listOf(record({ value: text, count: whole, highlighted: text })),
    }),
  ),
  hits: listOf(
    record(
      {
        document: record({ id: text }),
        highlight: { type: "object" },
        highlights: listOf(record({ field: text })),
      },
      { text_match: whole, text_match_info: record({ score: text, fields_matched: whole }) },
    ),
  ),
});
const failure = record({ code: whole, error: text });

/** Hand-written schemas of the response fields that front ends and this service use. */
const facts: Readonly<Record<string, Schema>> = {
  "get /collections 200": listOf(collection),
  "post /collections 201": collection,
  "get /collections/{collectionName} 200": collection,
  "patch /collections/{collectionName} 200": record({ fields: listOf(field) }),
  "delete /collections/{collectionName} 200": collection,
  "post /collections/{collectionName}/documents 201": record({ id: text }),
  "patch /collections/{collectionName}/documents 200": record({ num_updated: whole }),
  "delete /collections/{collectionName}/documents 200": record({ num_deleted: whole }),
  "get /collections/{collectionName}/documents/search 200": result,
  "get /collections/{collectionName}/documents/export 200": text,
  "post /collections/{collectionName}/documents/import 200": text,
  "get /collections/{collectionName}/documents/{documentId} 200": record({ id: text }),
  "patch /collections/{collectionName}/documents/{documentId} 200": record({ id: text }),
  "delete /collections/{collectionName}/documents/{documentId} 200": record({ id: text }),
  "get /keys 200": record({
    keys: listOf({ ...key, required: [...key.required, "value_prefix"] }),
  }),
  "post /keys 201": { ...key, required: [...key.required, "value"] },
  "get /keys/{keyId} 200": key,
  "delete /keys/{keyId} 200": record({ id: whole }),
  "get /aliases 200": record({ aliases: listOf(alias) }),
  "get /aliases/{aliasName} 200": alias,
  "put /aliases/{aliasName} 200": alias,
  "delete /aliases/{aliasName} 200": alias,
  "get /debug 200": record({ version: text, state: whole }),
  "get /health 200": record({ ok: { const: true } }),
  "post /multi_search 200": record({ results: listOf({ anyOf: [result, failure] }) }),
  "get /metrics.json 200": { type: "object" },
  "get /stats.json 200": { type: "object" },
};

/** Compares a response with the hand-written schemas. An unknown operation is a problem too. */
export function factProblems({ operation, status, body }: Exchange): string[] {
  const name = `${operation} ${status}`;
  const schema = status >= 400 ? problem : facts[name];
  return schema === undefined
    ? [`${name}: no schema for this response`]
    : check(name, schema, body);
}

interface Description {
  paths: Record<
    string,
    Record<string, { responses: Record<string, { content?: Record<string, { schema: Schema }> }> }>
  >;
  components: {
    schemas: Record<string, { properties: Record<string, Schema> }>;
  };
}

// Responses that the published description omits: existing documents, and parameters out of bounds.
const unlisted = [
  "post /collections/{collectionName}/documents 409",
  "post /collections/{collectionName}/documents 400",
  "delete /collections/{collectionName}/documents 400",
  "get /collections/{collectionName}/documents/search 422",
];

const description = typesenseDescription === "" ? null : readDescription(typesenseDescription);

function readDescription(path: string): Description {
  const read = parse(readFileSync(path, "utf8")) as Description;
  const { SearchResultHit, SearchHighlight } = read.components.schemas;
  // The description types these as objects, but document values and tokens are not objects.
  if (SearchResultHit) SearchResultHit.properties["document"] = { type: "object" };
  if (SearchHighlight) SearchHighlight.properties["matched_tokens"] = { type: "array" };
  ajv.addSchema(read, "description");
  return read;
}

/**
 * Compares a response with the published OpenAPI description.
 * @throws without TYPESENSE_OPENAPI
 */
export function descriptionProblems({ operation, status, body }: Exchange): string[] {
  if (description === null) throw new Error("TYPESENSE_OPENAPI names no file");
  const [method = "", path = ""] = operation.split(" ");
  const name = `${operation} ${status}`;
  // Every operation returns 401 without a key; the description omits it.
  if (unlisted.includes(name) || status === 401) return factProblems({ operation, status, body });
  const response = description.paths[path]?.[method]?.responses[status];
  if (response === undefined) return [`${name}: the description does not list it`];
  const [media] = Object.keys(response.content ?? {});
  if (media === undefined) return [];
  const steps = ["paths", path, method, "responses", String(status), "content", media, "schema"];
  const pointer = steps.map((step) => step.replaceAll("~", "~0").replaceAll("/", "~1"));
  return check(name, { $ref: `description#/${pointer.map(encodeURIComponent).join("/")}` }, body);
}

function check(name: string, schema: Schema, body: unknown): string[] {
  const validate = ajv.compile(schema);
  if (validate(body)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message }) => `${name}: ${instancePath || "the body"} ${message}`,
  );
}
