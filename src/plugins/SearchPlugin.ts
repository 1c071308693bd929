import type { Step } from "postgraphile/grafast";
import { type FieldArgs, constant, context, lambda, loadOne, object } from "postgraphile/grafast";
import { extendSchema } from "postgraphile/utils";
import type { RequestInfo } from "../auth/identity.ts";
import { UnauthenticatedError } from "../errors/PublicError.ts";
import type { WithRequestClient } from "../postgres/service.ts";
import type { MakeScopedKey, ScopedKey } from "../search/scopedKeys.ts";
import type { SearchNode } from "../settings/search.ts";
import { resource } from "../schema/resource.ts";
import { searchTypes } from "../schema/searchTypes.ts";

/** A field as the database describes it. */
interface Field {
  name: string;
  title: string;
  dataType: string;
  searchable: boolean;
  filterable: boolean;
  sortable: boolean;
  facet: boolean;
}

/** A collection as the database describes it. */
interface Definition {
  type: string;
  collection: string;
  title: string;
  own: string[] | null;
  defaultSort: string;
  /** Whether reads of its rows are audited. */
  isAudited: boolean;
  fields: Field[];
  /** For the global search: whether it was built at least once. */
  enabled?: boolean;
}

/** A key that a field of the response needs. */
interface KeyRequest {
  field: "searchConfig" | "globalSearchConfig";
  definitions: readonly Definition[];
  requestContext: RequestInfo;
  pgSettings: Record<string, string>;
  withPgClient: WithRequestClient;
}

const pageSizeOptions = [10, 25, 50, 100];
const globalPerPage = 5;

/**
 * The configuration for front ends that query the search engine directly: addresses, collections, and a short-lived
 * key.
 */
export function makeSearchPlugin(options: {
  /** The engine's addresses for front ends. */
  nodes: readonly SearchNode[];
  /** The prefix of all collection names. */
  prefix: string;
  makeKey: MakeScopedKey;
}): GraphileConfig.Plugin {
  const { nodes, prefix, makeKey } = options;
  return extendSchema((build) => {
    const { executor } = resource(build, "products");
    const { loadOneWithPgClient } = build.dataplanPg;

    const requireIdentity = ({ identity, hasToken }: RequestInfo) => {
      if (!identity) throw new UnauthenticatedError(hasToken);
      return identity;
    };
    // One function, so that all fields of a response share the key.
    const loadKeys = (asked: readonly KeyRequest[]) =>
      Promise.all(
        asked.map(async (keyRequest) => {
          const { definitions, requestContext } = keyRequest;
          const [first] = definitions;
          if (first === undefined) return null;
          const key = await makeKey({
            tenant: requestContext.tenant,
            collections: definitions.map(({ collection }) => collection),
            ...(first.own && { ownerColumns: first.own.length }),
            identity: requireIdentity(requestContext),
          });
          await recordKey(keyRequest, key);
          return key;
        }),
      );
    const keyFor = (
      field: KeyRequest["field"],
      $definitions: Step<readonly Definition[]>,
    ): Step<ScopedKey | null> =>
      loadOne(
        object({
          field: constant(field),
          definitions: $definitions,
          requestContext: context().get("requestContext"),
          pgSettings: context().get("pgSettings"),
          withPgClient: context().get("withPgClient"),
        }),
        loadKeys as never,
      );
    const namesWhere = (of: (field: Field) => boolean) => ($config: Step) =>
      lambda($config as Step<{ fields: Field[] }>, ({ fields }) =>
        fields.filter(of).map(({ name }) => name),
      );
    const scopedKeyOf = ($config: Step) =>
      keyFor("searchConfig", lambda($config as Step<Definition>, singleDefinition));
    const globalKeyOf = ($config: Step) =>
      keyFor(
        "globalSearchConfig",
        lambda($config as Step<{ definitions: Definition[] }>, allDefinitions),
      );

    return {
      typeDefs: searchTypes,
      objects: {
        Query: {
          plans: {
            searchConfig(_$root: Step, args: FieldArgs) {
              const $type = args.getRaw("type") as Step<string>;
              return loadOneWithPgClient(executor, $type, (client, types) =>
                Promise.all(
                  types.map(async (type) => {
                    const { rows } = await client.query<{ definition: Definition }>({
                      text: "select search_config_of($1) as definition",
                      values: [type],
                    });
                    return rows[0]?.definition ?? null;
                  }),
                ),
              );
            },
            globalSearchConfig() {
              return loadOneWithPgClient(
                executor,
                context().get("requestContext") as Step<RequestInfo>,
                (client, asked) =>
                  Promise.all(
                    asked.map(async () => {
                      const { rows } = await client.query<{ definition: Definition }>({
                        text: "select c as definition from global_search_of() as c",
                      });
                      return { definitions: rows.map(({ definition }) => definition) };
                    }),
                  ),
              );
            },
          },
        },
        SearchConfig: {
          plans: {
            collectionName: ($config: Step) =>
              lambda($config as Step<Definition>, ({ collection }) => prefix + collection),
            scopedApiKey: ($config: Step) =>
              lambda(scopedKeyOf($config), (key) => key?.scopedApiKey ?? ""),
            expiresAt: ($config: Step) => lambda(scopedKeyOf($config), (key) => key?.expiresAt),
            nodes: () => lambda(null, () => nodes),
            supportsFreeTextSearch: ($config: Step) =>
              lambda($config as Step<Definition>, ({ fields }) =>
                fields.some(({ searchable }) => searchable),
              ),
            columns: ($config: Step) => lambda($config as Step<Definition>, ({ fields }) => fields),
            searchableFields: namesWhere(({ searchable }) => searchable),
            filterableFields: namesWhere(({ filterable }) => filterable),
            sortableFields: namesWhere(({ sortable }) => sortable),
            facetFields: namesWhere(({ facet }) => facet),
            pageSizeOptions: () => lambda(null, () => pageSizeOptions),
          },
        },
        GlobalSearchConfig: {
          plans: {
            scopedApiKey: ($config: Step) =>
              lambda(globalKeyOf($config), (key) => key?.scopedApiKey ?? ""),
            expiresAt: ($config: Step) =>
              lambda(globalKeyOf($config), (key) => key?.expiresAt ?? null),
            nodes: () => lambda(null, () => nodes),
            searches: ($config: Step) =>
              lambda($config as Step<{ definitions: Definition[] }>, ({ definitions }) =>
                definitions.map(({ type, title, collection, fields, enabled }) => ({
                  type,
                  label: title,
                  collection: prefix + collection,
                  queryBy: fields.filter(({ searchable }) => searchable).map(({ name }) => name),
                  perPage: globalPerPage,
                  enabled: enabled === true,
                })),
              ),
          },
        },
      },
    };
  }, "SearchPlugin");
}

const singleDefinition = (definition: Definition) => [definition];
const allDefinitions = ({ definitions }: { definitions: Definition[] }) => definitions;

/**
 * Records the issue of a key that opens rows of an audited type: its searches bypass this service. A key that could not
 * be recorded is not returned.
 */
async function recordKey(keyRequest: KeyRequest, { expiresAt }: ScopedKey): Promise<void> {
  const { field, definitions, pgSettings, withPgClient } = keyRequest;
  if (!definitions.some(({ isAudited }) => isAudited)) return;
  const collections = definitions.map(({ type }) => type).sort();
  await withPgClient(pgSettings, (client) =>
    client.query({
      text: "select record_read('SearchKey', null, $1)",
      values: [JSON.stringify({ field, collections, expiresAt })],
    }),
  );
}
