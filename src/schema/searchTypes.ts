import { gql } from "postgraphile/utils";

/** The search configuration for front ends, served by `SearchPlugin`. */
export const searchTypes = gql`
  """
  A search engine server that receives the searches of front ends.
  """
  type SearchNode {
    """
    The host name.
    """
    host: String!
    """
    The port.
    """
    port: Int!
    """
    The protocol: \`http\` or \`https\`.
    """
    protocol: String!
  }

  """
  A field of a collection, as a column of a list.
  """
  type SearchColumn {
    """
    The name of the field in documents and searches.
    """
    name: String!
    """
    The heading of the column.
    """
    title: String!
    """
    The type for displaying the values. Most are types of the search engine, such as \`string\`, \`int32\`, \`float\` or
    \`bool\`. \`timestamp\` and \`date\` are whole seconds since 1970 (UTC), and \`hexColor\` is a colour such as
    \`#7A0019\`. Other types are \`email\`, \`url\`, \`phone\`, \`money\` and \`percent\`.
    """
    dataType: String!
    """
    Whether words are searched in the field.
    """
    searchable: Boolean!
    """
    Whether the field is usable in \`filter_by\`.
    """
    filterable: Boolean!
    """
    Whether the field is usable in \`sort_by\`.
    """
    sortable: Boolean!
  }

  """
  The configuration with which a front end searches one collection directly in the search engine.
  """
  type SearchConfig {
    """
    The name of the collection in requests to the search engine.
    """
    collectionName: String!
    """
    The key for requests to the search engine. It only permits searches of this collection, until \`expiresAt\`.
    """
    scopedApiKey: String! @scope(secret: true)
    """
    When the key expires. Request a new key before that time.
    """
    expiresAt: DateTime!
    """
    The search engine's servers.
    """
    nodes: [SearchNode!]!
    """
    Whether the collection has fields in which words are searched.
    """
    supportsFreeTextSearch: Boolean!
    """
    The fields of the collection.
    """
    columns: [SearchColumn!]!
    """
    The fields in which words are searched, in this order: \`query_by\`.
    """
    searchableFields: [String!]!
    """
    The fields usable in \`filter_by\`.
    """
    filterableFields: [String!]!
    """
    The fields usable in \`sort_by\`.
    """
    sortableFields: [String!]!
    """
    The fields usable in \`facet_by\`.
    """
    facetFields: [String!]!
    """
    The default \`sort_by\` of a list without a search, such as \`name:asc\`; empty for none.
    """
    defaultSort: String!
    """
    The page sizes that a front end can offer.
    """
    pageSizeOptions: [Int!]!
  }

  """
  A search of one collection in the global search.
  """
  type GlobalSearchEntry {
    """
    The argument \`type\` of \`searchConfig\`.
    """
    type: String!
    """
    The display name of the collection.
    """
    label: String!
    """
    The name of the collection in requests to the search engine.
    """
    collection: String!
    """
    The fields in which words are searched: the values of \`query_by\`, to be joined by commas.
    """
    queryBy: [String!]!
    """
    The number of rows to request: \`per_page\`.
    """
    perPage: Int!
    """
    Whether to search the collection. False while it is being built for the first time.
    """
    enabled: Boolean!
  }

  """
  The configuration with which a front end searches all collections that its user may search.
  """
  type GlobalSearchConfig {
    """
    The key for requests to the search engine. It only permits searches of these collections, until \`expiresAt\`. Empty
    if the user may search nothing.
    """
    scopedApiKey: String! @scope(secret: true)
    """
    When the key expires; null without a key.
    """
    expiresAt: DateTime
    """
    The search engine's servers.
    """
    nodes: [SearchNode!]!
    """
    The searches; empty for a user who may search nothing.
    """
    searches: [GlobalSearchEntry!]!
  }

  extend type Query {
    """
    The configuration with which a front end searches one collection directly in the search engine. Needs the permission
    to read the collection, such as \`products.read\` for \`products\`.
    """
    searchConfig(
      """
      The name of the collection, such as \`products\`.
      """
      type: String!
    ): SearchConfig! @scope(guard: "principal")

    """
    The configuration with which a front end searches all collections that the caller may search.
    """
    globalSearchConfig: GlobalSearchConfig! @scope(guard: "login")
  }
`;
