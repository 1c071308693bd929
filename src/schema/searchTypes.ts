import { gql } from "postgraphile/utils";

/** The search configuration for front ends, served by `SearchPlugin`. */
export const searchTypes = gql`
  """
  A server of the search engine, to which front ends send their searches.
  """
  type SearchNode {
    """
    Its host name.
    """
    host: String!
    """
    Its port.
    """
    port: Int!
    """
    \`http\` or \`https\`.
    """
    protocol: String!
  }

  """
  A field of a collection, as a column of a list.
  """
  type SearchColumn {
    """
    The field's name in documents and searches.
    """
    name: String!
    """
    What stands at the head of the column.
    """
    title: String!
    """
    How values are to be shown. Most are the search engine's own types, such as \`string\`, \`int32\`, \`float\` or \`bool\`; \`timestamp\` and \`date\`
    are whole seconds since 1970 (UTC), \`hexColor\` is a colour such as \`#7A0019\`, and \`email\`, \`url\`, \`phone\`, \`money\` and
    \`percent\` speak for themselves.
    """
    dataType: String!
    """
    Whether words are looked for in it.
    """
    searchable: Boolean!
    """
    Whether it can stand in \`filter_by\`.
    """
    filterable: Boolean!
    """
    Whether it can stand in \`sort_by\`.
    """
    sortable: Boolean!
  }

  """
  What a front end needs to search one collection by itself.
  """
  type SearchConfig {
    """
    As requests to the search engine name it.
    """
    collectionName: String!
    """
    The key to send to the search engine: it searches this collection and does nothing else, until \`expiresAt\`.
    """
    scopedApiKey: String! @scope(secret: true)
    """
    When the key ends; ask again before.
    """
    expiresAt: DateTime!
    """
    The search engine's servers.
    """
    nodes: [SearchNode!]!
    """
    Whether there is a field in which words are looked for.
    """
    supportsFreeTextSearch: Boolean!
    """
    Its fields.
    """
    columns: [SearchColumn!]!
    """
    Where words are looked for, in this order: \`query_by\`.
    """
    searchableFields: [String!]!
    """
    What can stand in \`filter_by\`.
    """
    filterableFields: [String!]!
    """
    What can stand in \`sort_by\`.
    """
    sortableFields: [String!]!
    """
    What can stand in \`facet_by\`.
    """
    facetFields: [String!]!
    """
    The \`sort_by\` of a list that was not searched, such as \`name:asc\`; empty for none.
    """
    defaultSort: String!
    """
    How many rows a page may be offered with.
    """
    pageSizeOptions: [Int!]!
  }

  """
  One search of the global search.
  """
  type GlobalSearchEntry {
    """
    As \`searchConfig\` names it.
    """
    type: String!
    """
    For people.
    """
    label: String!
    """
    The collection, as requests to the search engine name it.
    """
    collection: String!
    """
    Where words are looked for: \`query_by\`, joined by commas.
    """
    queryBy: [String!]!
    """
    How many rows to ask for: \`per_page\`.
    """
    perPage: Int!
    """
    False while the collection is being built for the first time: it is to be left out of the search.
    """
    enabled: Boolean!
  }

  """
  What a front end needs to search in all that its user may search at once.
  """
  type GlobalSearchConfig {
    """
    The key to send to the search engine: it searches these collections and does nothing else, until \`expiresAt\`. Empty where there is
    nothing to be searched.
    """
    scopedApiKey: String! @scope(secret: true)
    """
    When the key ends; null where there is none.
    """
    expiresAt: DateTime
    """
    The search engine's servers.
    """
    nodes: [SearchNode!]!
    """
    What to search; empty for a user who may search nothing.
    """
    searches: [GlobalSearchEntry!]!
  }

  extend type Query {
    """
    What a front end needs to search one collection by itself. Asks for the permission to read it: for \`products\`, that is
    \`products.read\`.
    """
    searchConfig(
      """
      What to search, such as \`products\`.
      """
      type: String!
    ): SearchConfig! @scope(guard: "principal")

    """
    What a front end needs to search in all that the caller may search at once.
    """
    globalSearchConfig: GlobalSearchConfig! @scope(guard: "login")
  }
`;
