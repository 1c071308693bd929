import { gql } from "postgraphile/utils";

/** The query `console` and its types. */
export const consoleTypeDefs = gql`
  """
  What a front end can show to the caller and let them do.
  """
  type Console {
    """
    Changes with the schema, the caller and the caller's permissions.
    """
    version: String!
    """
    The name of the system.
    """
    title: String!
    """
    The caller.
    """
    me: ConsoleUser!
    """
    The tables that the caller may read, in the order of the navigation.
    """
    entities: [Entity!]!
    """
    The tables that the caller may not read, with the permission that opens them.
    """
    closedEntities: [ClosedEntity!]!
  }

  """
  The caller and their rights.
  """
  type ConsoleUser {
    """
    The user.
    """
    user: User! @scope(auditReads: "own")
    """
    The keys of all permissions that count for this request.
    """
    permissions: [String!]!
  }

  """
  A table that the caller may not read.
  """
  type ClosedEntity {
    """
    As addresses name it, such as \`orders\`.
    """
    name: String!
    """
    Its heading.
    """
    title: String!
    """
    The permission that opens it.
    """
    permission: String
  }

  """
  A table of the API with everything that a front end needs to list, show and edit its rows.
  """
  type Entity {
    """
    As \`searchFields\`, views and addresses name it, such as \`products\`.
    """
    name: String!
    """
    The type of its rows, such as \`Product\`.
    """
    typeName: String!
    """
    Its heading, such as "Products".
    """
    title: String!
    """
    One row of it, such as "Product".
    """
    titleOne: String!
    """
    What it holds.
    """
    description: String
    """
    The heading of the navigation that it belongs to.
    """
    group: String
    """
    The name of a symbol.
    """
    icon: String
    """
    The field that identifies a row: \`id\`, or a key of one column; null where there is none.
    """
    keyField: String
    """
    The field that names a row to people.
    """
    nameField: String!
    """
    The field that tells two rows of the same name apart.
    """
    detailField: String
    """
    The field with a colour of the row.
    """
    colorField: String
    """
    The field that only the response of the create mutation contains, such as the address of a calendar feed.
    """
    secretField: String
    """
    The root field of the list; null where the rows are only available below others, which \`parents\` names.
    """
    listField: String
    """
    The root field with pages, query and count; null where \`listField\` is.
    """
    pagesField: String
    """
    The root field of one row by its id.
    """
    recordField: String
    """
    The order of the list without \`orderBy\`, in its terms.
    """
    defaultOrder: [String!]!
    """
    How to make a row; null where the caller may not.
    """
    canCreate: EntityMutation
    """
    How to change a row; null where the caller may not.
    """
    canUpdate: EntityMutation
    """
    How to delete a row; null where the caller may not.
    """
    canDelete: EntityMutation
    """
    Whether \`recordHistory\` tells the changes of a row.
    """
    hasHistory: Boolean!
    """
    Which permission is missing for what the caller may not do.
    """
    missing: [MissingPermission!]!
    """
    Its fields, in the order of the table.
    """
    fields: [EntityField!]!
    """
    Other tables whose rows refer to a row of this one.
    """
    relations: [EntityRelation!]!
    """
    Where its rows are found when they have no list at the root.
    """
    parents: [EntityParent!]!
    """
    What else the caller may do with a row.
    """
    actions: [EntityAction!]!
  }

  """
  A field of another table that holds the rows of this one, such as \`prices\` of products.
  """
  type EntityParent {
    """
    The other table.
    """
    entity: String!
    """
    The field of its type.
    """
    field: String!
    """
    Whether that field is a connection with pages and a count; else it is a list with all rows.
    """
    isConnection: Boolean!
    """
    The field of this table that holds the id of the other row.
    """
    by: String!
  }

  """
  A mutation of one row that is neither its creation, its change nor its deletion, such as \`activateUser\`.
  """
  type EntityAction {
    """
    The root field.
    """
    field: String!
    """
    The argument that takes the id of the row.
    """
    argument: String!
    """
    What a button says.
    """
    title: String!
    """
    What it does.
    """
    description: String!
    """
    Whether people are asked before it is carried out.
    """
    isHarmful: Boolean!
    """
    The field that must be true for the action to make sense.
    """
    onlyIf: String
    """
    The field that must be false for it.
    """
    unless: String
  }

  """
  A mutation of one row.
  """
  type EntityMutation {
    """
    The root field.
    """
    field: String!
    """
    The type of its argument \`input\`.
    """
    inputType: String
    """
    Whether it takes \`ifVersion\`.
    """
    takesVersion: Boolean!
  }

  """
  What the caller may not do with a table, and why.
  """
  type MissingPermission {
    """
    \`create\`, \`update\` or \`delete\`.
    """
    verb: String!
    """
    The permission's key; null where a session is what is missing.
    """
    permission: String
    """
    What the permission would allow.
    """
    description: String!
  }

  """
  The kind of a field, which decides how it is shown and edited.
  """
  enum EntityFieldKind {
    """
    Text.
    """
    TEXT
    """
    A whole number.
    """
    INTEGER
    """
    A decimal number, as text.
    """
    DECIMAL
    """
    A number of limited precision.
    """
    FLOAT
    """
    True or false.
    """
    BOOLEAN
    """
    A day.
    """
    DATE
    """
    A point in time.
    """
    TIME
    """
    A time of day.
    """
    CLOCK
    """
    One of \`values\`.
    """
    ENUM
    """
    The id of a row of \`reference\`.
    """
    REFERENCE
    """
    Any JSON.
    """
    JSON
  }

  """
  Whether a mutation takes a field.
  """
  enum FieldUse {
    """
    It does not take it.
    """
    NO
    """
    It can be left out.
    """
    OPTIONAL
    """
    It is needed.
    """
    REQUIRED
  }

  """
  A field of a table.
  """
  type EntityField {
    """
    Its name in the API.
    """
    name: String!
    """
    Its heading; units do not belong into it.
    """
    title: String!
    """
    What it holds.
    """
    description: String
    """
    How it is shown and edited.
    """
    kind: EntityFieldKind!
    """
    How it is shown and edited beyond its kind, such as \`color\`, \`url\`, \`long\`.
    """
    widget: String
    """
    The unit of its numbers.
    """
    unit: String
    """
    Of an enumeration, its values.
    """
    values: [EntityValue!]!
    """
    The table that it refers to.
    """
    reference: EntityReference
    """
    Whether it holds a list.
    """
    isList: Boolean!
    """
    Whether it can be empty.
    """
    isNullable: Boolean!
    """
    Whether only mutations have it, and rows do not.
    """
    isInputOnly: Boolean!
    """
    Whether a new row takes it.
    """
    onCreate: FieldUse!
    """
    Whether a change takes it.
    """
    onUpdate: FieldUse!
    """
    How many characters it holds at most.
    """
    maxLength: Int
    """
    What a new row gets where no value is given, as text; null where there is none or it is computed.
    """
    defaultValue: String
    """
    The values of \`orderBy\` that order by it; none where no index does.
    """
    orderBy: [String!]!
    """
    Its name in the query language; null where that does not reach it.
    """
    searchName: String
    """
    Its place in lists: 0 hides it, null leaves it to the front end.
    """
    place: Int
    """
    The heading that it stands under in forms.
    """
    section: String
  }

  """
  A value of an enumeration.
  """
  type EntityValue {
    """
    As the API writes it.
    """
    value: String!
    """
    For people.
    """
    title: String!
    """
    \`ok\`, \`warn\`, \`bad\` or \`info\`.
    """
    tone: String
  }

  """
  What a field refers to.
  """
  type EntityReference {
    """
    The table.
    """
    entity: String!
    """
    The field of the same row that holds the other row.
    """
    field: String
    """
    The field of the other row that the reference holds.
    """
    keyField: String!
    """
    The field that names the other row.
    """
    nameField: String!
    """
    The field that tells two of the same name apart, and names one without a name.
    """
    detailField: String
    """
    The field with its colour.
    """
    colorField: String
  }

  """
  Rows of another table that refer to a row.
  """
  type EntityRelation {
    """
    Identifies the relation.
    """
    field: String!
    """
    Its heading.
    """
    title: String!
    """
    The other table.
    """
    entity: String!
    """
    The field of the other table, in its query language, that holds the id of the row.
    """
    by: String!
  }

  extend type Query {
    """
    What a front end can show to the caller and let them do: the tables, fields and mutations that their permissions open. Null
    where \`ifNot\` is still the current version.
    """
    console(
      """
      The version that the caller has.
      """
      ifNot: String
    ): Console @scope(guard: "login")
  }
`;
