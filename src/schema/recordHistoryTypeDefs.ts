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
    Whether older ones follow.
    """
    hasNextPage: Boolean!
    """
    Goes into \`after\`, to read the older ones.
    """
    endCursor: String
  }

  """
  One change of a row, or one read of it.
  """
  type RecordChange {
    """
    Identifies it; the id of its row in the audit log.
    """
    id: ID!
    """
    When it happened.
    """
    at: DateTime!
    """
    One of \`CREATE\`, \`UPDATE\`, \`DELETE\`, \`READ\`.
    """
    operation: String!
    """
    The request that caused it.
    """
    correlationId: String
    """
    Where it came from: \`api\`, \`job\`, or \`db\` for a change made in the database.
    """
    source: String!
    """
    Who did it; null for the service itself and for changes made in the database.
    """
    by: RecordChanger
    """
    The name of the API token that was used.
    """
    byToken: String
    """
    The fields that changed.
    """
    changes: [FieldChange!]!
    """
    How many rows of any table the same request changed beside this one; counted up to 1,000.
    """
    alsoChanged: Int!
  }

  """
  The user who changed a row, by name alone.
  """
  type RecordChanger {
    """
    The user's id.
    """
    id: ID!
    """
    The user's name; null while they have none.
    """
    name: String
  }

  """
  One field of a change.
  """
  type FieldChange {
    """
    The field.
    """
    field: String!
    """
    Its value before; of a reference, an object with \`id\` and \`name\`. Of a value above 4,000 characters a part as text,
    with … where something is left out.
    """
    before: JSON
    """
    Its value after.
    """
    after: JSON
    """
    Whether the caller can put the value before back: they may change the field, and the value is whole.
    """
    isRestorable: Boolean!
  }

  extend type Query {
    """
    The changes of one row, newest first, for callers who may read the row; of a deleted row, for callers who may read the audit log.
    Without addresses and programs, and only with fields that the API shows. Needs the permission to read the table.
    """
    recordHistory(
      """
      The table, as \`console\` names it, such as \`products\`.
      """
      entity: String!
      """
      The row's id, or the key that stands for it.
      """
      id: String!
      """
      This many, 100 at most.
      """
      first: Int! = 30
      """
      Older ones than the page that ended with this cursor.
      """
      after: String
      """
      Also the reads of it; asks for \`audit.read\`.
      """
      includeReads: Boolean! = false
    ): RecordHistory! @scope(guard: "login")
  }
`;
