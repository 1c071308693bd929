import type { Step } from "postgraphile/grafast";
import { type FieldArgs, context, lambda, loadOne, object } from "postgraphile/grafast";
import { extendSchema } from "postgraphile/utils";
import type { RequestInfo } from "../auth/identity.ts";
import { notLoggedIn } from "../errors.ts";
import type { MakeScopedKey, ScopedKey } from "../search/scopedKeys.ts";
import type { SearchNode } from "../settings/search.ts";
import { resource } from "./resource.ts";
import { searchTypes } from "./searchTypes.ts";

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
  fields: Field[];
  /** Of those of the global search: whether it was built at least once. */
  enabled?: boolean;
}

const pageSizeOptions = [10, 25, 50, 100];
const globalPerPage = 5;

/** What a front end needs to search in the search engine by itself: where it is, what it holds, and a key that ends soon. */
export function makeSearchPlugin(options: {
  /** Where front ends reach the engine. */
  nodes: readonly SearchNode[];
  /** What the names of all collections begin with there. */
  prefix: string;
  makeKey: MakeScopedKey;
}): GraphileConfig.Plugin {
  const { nodes, prefix, makeKey } = options;
  return extendSchema((build) => {
    const { executor } = resource(build, "products");
    const { loadOneWithPgClient } = build.dataplanPg;

    const requireIdentity = ({ identity }: RequestInfo) => {
      if (!identity) throw notLoggedIn();
      return identity;
    };
    // One and the same function each time, so that all fields of an answer that need the key share it.
    const loadKeys = (
      asked: readonly { definitions: readonly Definition[]; office: RequestInfo }[],
    ) =>
      Promise.all(
        asked.map(async ({ definitions, office }) => {
          const [first] = definitions;
          if (first === undefined) return null;
          return makeKey({
            area: office.area,
            collections: definitions.map(({ collection }) => collection),
            ...(first.own && { ownColumns: first.own.length }),
            identity: requireIdentity(office),
          });
        }),
      );
    const keyFor = ($definitions: Step<readonly Definition[]>): Step<ScopedKey | null> =>
      loadOne(object({ definitions: $definitions, office: context().get("office") }), loadKeys);
    const namesWhere = (of: (field: Field) => boolean) => ($config: Step) =>
      lambda($config as Step<{ fields: Field[] }>, ({ fields }) =>
        fields.filter(of).map(({ name }) => name),
      );
    const scopedKeyOf = ($config: Step) => keyFor(lambda($config as Step<Definition>, alone));
    const globalKeyOf = ($config: Step) =>
      keyFor(lambda($config as Step<{ definitions: Definition[] }>, allOf));

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
                context().get("office") as Step<RequestInfo>,
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

const alone = (definition: Definition) => [definition];
const allOf = ({ definitions }: { definitions: Definition[] }) => definitions;
