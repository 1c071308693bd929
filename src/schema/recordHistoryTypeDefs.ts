import { gql } from "postgraphile/utils";

/** The query `recordHistory` and its types. */
export const recordHistoryTypeDefs = gql`
  """
  The changes of one row, newest first.
  """
  type RecordHistory {
    """
    The changes.
    """
    nodes: [RecordChange!]!
    """
    Whether there are older changes.
    """
    hasNextPage: Boolean!
    """
    The cursor for the argument \`after\`, to get older changes.
    """
    endCursor: String
  }

  """
  A change or read of a row.
  """
  type RecordChange {
    """
    The id of the change, which is the id of its row in the audit log.
    """
    id: ID!
    """
    The time of the change.
    """
    at: DateTime!
    """
    One of \`CREATE\`, \`UPDATE\`, \`DELETE\`, \`READ\`.
    """
    operation: String!
    """
    The correlation id of the request that made the change.
    """
    correlationId: String
    """
    The origin of the change: \`api\`, \`job\`, or \`db\` for a change made directly in the database.
    """
    source: String!
    """
    The user who made the change; null for the service itself and for changes made directly in the database.
    """
    by: RecordChanger
    """
    The name of the API token that was used.
    """
    byToken: String
    """
    The fields that changed. Holders of \`audit.read\` also see those that were renamed or dropped later, by their names
    at that time.
    """
    changes: [FieldChange!]!
    """
    The number of other rows, of any table, that the same request changed. Counting stops at 1,000.
    """
    alsoChanged: Int!
  }

  """
  The user who changed a row, with the name only.
  """
  type RecordChanger {
    """
    The user's id.
    """
    id: ID!
    """
    The user's name; null if the user has none.
    """
    name: String
  }

  """
  A field of a change.
  """
  type FieldChange {
    """
    The name of the field.
    """
    field: String!
    """
    The value before the change; for a reference, an object with \`id\` and \`name\`. A value above 4,000 characters is
    returned as shortened text, with … for the omitted parts.
    """
    before: JSON
    """
    The value after the change.
    """
    after: JSON
    """
    Whether the caller can restore the old value: the caller may change the field, and the value is not shortened.
    """
    isRestorable: Boolean!
  }

  extend type Query {
    """
    The changes of one row, newest first. The caller must be able to read the row, or the audit log for a deleted row.
    Contains no IP addresses or user agents, and only fields of the API. Needs the permission to read the table.
    """
    recordHistory(
      """
      The name of the table in \`console\`, such as \`products\`.
      """
      entity: String!
      """
      The id of the row, or its key in a table without ids.
      """
      id: String!
      """
      The maximum number of changes, at most 100.
      """
      first: Int! = 30
      """
      The \`endCursor\` of a page, to get the changes older than that page.
      """
      after: String
      """
      Whether to include reads of the row, which needs \`audit.read\`.
      """
      includeReads: Boolean! = false
    ): RecordHistory! @scope(guard: "login")
  }
`;
