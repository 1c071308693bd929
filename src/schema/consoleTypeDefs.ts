import { gql } from "postgraphile/utils";

/** The query `console` and its types. */
export const consoleTypeDefs = gql`
  """
  The tables, fields and mutations that a front end can offer to the caller.
  """
  type Console {
    """
    The version, which changes with the schema, the caller and the caller's permissions.
    """
    version: String!
    """
    The name of the system.
    """
    title: String!
    """
    The origins that the page may load pictures from, beside its own.
    """
    imageOrigins: [String!]!
    """
    The caller.
    """
    me: ConsoleUser!
    """
    The table of users as a form for the row of the caller, which \`me\` returns; null without a session.
    """
    profile: Entity
    """
    The tables that the caller may read, in the order of the navigation.
    """
    entities: [Entity!]!
    """
    The tables that the caller may not read, with the missing permission.
    """
    closedEntities: [ClosedEntity!]!
    """
    The queries that the caller may send from separate pages, in the order of the navigation.
    """
    reports: [ConsoleReport!]!
    """
    The queries of this kind that the caller may not send, with the missing permission.
    """
    closedReports: [ClosedEntity!]!
  }

  """
  A query that a front end can show on a separate page with a form for its arguments, such as \`freeResources\`.
  """
  type ConsoleReport {
    """
    The name of the query.
    """
    field: String!
    """
    The type of its rows, such as \`Session\`.
    """
    typeName: String!
    """
    The title of the page.
    """
    title: String!
    """
    A description of the query.
    """
    description: String
    """
    The navigation heading under which the page is listed.
    """
    group: String
    """
    The name of the icon.
    """
    icon: String
    """
    The arguments, in the order of a form.
    """
    arguments: [ConsoleArgument!]!
    """
    The table whose rows the query returns; null if \`fields\` describes the rows.
    """
    entity: String
    """
    The fields of the rows; empty if they are those of \`entity\`.
    """
    fields: [EntityField!]!
    """
    The mutations that change the rows, or that a front end offers above them.
    """
    actions: [EntityAction!]!
  }

  """
  The caller and the caller's permissions.
  """
  type ConsoleUser {
    """
    The user.
    """
    user: User! @scope(auditReads: "own")
    """
    The keys of all permissions effective in this request.
    """
    permissions: [String!]!
  }

  """
  A table or a report that the caller may not read.
  """
  type ClosedEntity {
    """
    The name of the table or report in addresses, such as \`orders\`.
    """
    name: String!
    """
    Its title.
    """
    title: String!
    """
    The permission required to read it.
    """
    permission: String
  }

  """
  A table of the API with everything that a front end needs to list, show and edit its rows.
  """
  type Entity {
    """
    The name of the table in \`searchFields\`, views and addresses, such as \`products\`.
    """
    name: String!
    """
    The type of its rows, such as \`Product\`.
    """
    typeName: String!
    """
    The title of the table, such as "Products".
    """
    title: String!
    """
    The title of one row, such as "Product".
    """
    titleOne: String!
    """
    A description of the table.
    """
    description: String
    """
    The navigation heading under which the table is listed.
    """
    group: String
    """
    The name of the icon.
    """
    icon: String
    """
    The field that identifies a row: \`id\`, or a key of one column; null if there is none.
    """
    keyField: String
    """
    The field with the display name of a row.
    """
    nameField: String!
    """
    The field that distinguishes rows with the same name.
    """
    detailField: String
    """
    The field with the colour of a row.
    """
    colorField: String
    """
    The field that only the response of the create mutation contains, such as the address of a calendar feed.
    """
    secretField: String
    """
    The root field of the list; null if the rows are available only as fields of other tables, see \`parents\`.
    """
    listField: String
    """
    The root field with pages, search and total count; null if \`listField\` is null.
    """
    pagesField: String
    """
    The root field that returns one row by its id.
    """
    recordField: String
    """
    The default order of the list, as values of \`orderBy\`.
    """
    defaultOrder: [String!]!
    """
    The query with which a front end opens the list, such as \`endsAt:>=today\`; null to open it with all rows.
    """
    defaultQuery: String
    """
    The mutation that creates a row; null if the caller may not create rows.
    """
    canCreate: EntityMutation
    """
    The mutation that changes a row; null if the caller may not change rows.
    """
    canUpdate: EntityMutation
    """
    The mutation that deletes a row; null if the caller may not delete rows.
    """
    canDelete: EntityMutation
    """
    Whether \`recordHistory\` returns the changes of a row.
    """
    hasHistory: Boolean!
    """
    The field with the user who alone may read the history of the row. If null, the caller may read that of all rows.
    """
    historyOwnerField: String
    """
    The missing permissions for operations that the caller may not execute.
    """
    missing: [MissingPermission!]!
    """
    The fields, in the order of the table.
    """
    fields: [EntityField!]!
    """
    Other tables whose rows refer to a row of this table.
    """
    relations: [EntityRelation!]!
    """
    The fields of other tables that return the rows, for a table without a root list.
    """
    parents: [EntityParent!]!
    """
    Further mutations of a row or of the list that the caller may execute.
    """
    actions: [EntityAction!]!
  }

  """
  What a field of another table returns.
  """
  enum EntityParentShape {
    """
    The only row, or null.
    """
    ROW
    """
    A list of all rows.
    """
    LIST
    """
    A connection with pages and a total count.
    """
    CONNECTION
  }

  """
  A field of another table that returns rows of this table, such as \`prices\` of products.
  """
  type EntityParent {
    """
    The other table.
    """
    entity: String!
    """
    The field of the other table's type.
    """
    field: String!
    """
    What the field returns.
    """
    shape: EntityParentShape!
    """
    The field of this table with the id of the other row.
    """
    by: String!
  }

  """
  A mutation other than create, update and delete: of one row, such as \`activateUser\`, or of the list, such as
  \`enterAbsence\`.
  """
  type EntityAction {
    """
    The name of the mutation.
    """
    field: String!
    """
    The argument for the id of the row; null for a mutation of the list.
    """
    argument: String
    """
    Whether the mutation has the argument \`ifVersion\`.
    """
    takesVersion: Boolean!
    """
    The label of a button.
    """
    title: String!
    """
    A description of the action.
    """
    description: String!
    """
    Whether a front end should ask for confirmation.
    """
    isHarmful: Boolean!
    """
    The field that must be true for the action to be available.
    """
    onlyIf: String
    """
    The field that must be false for the action to be available.
    """
    unless: String
    """
    The other arguments, in the order of a form.
    """
    arguments: [ConsoleArgument!]!
    """
    The Boolean arguments that a front end passes as true, such as \`all\` of \`markNotificationsRead\`.
    """
    flags: [String!]!
    """
    Whether the mutation returns a plain value, such as a count, so that no fields are selected.
    """
    returnsValue: Boolean!
    """
    The fields of the result to show afterwards, such as the counts of \`handOver\`.
    """
    resultFields: [EntityField!]!
    """
    The field of the result with a secret that the service returns only once, such as \`token\` of
    \`createUserApiToken\`; null without a secret.
    """
    secretField: String
  }

  """
  An argument of an action, a report or a mutation of a row.
  """
  type ConsoleArgument {
    """
    The name of the argument.
    """
    name: String!
    """
    The GraphQL type of the argument, such as \`String\` or \`EnterAbsenceInput!\`.
    """
    type: String!
    """
    Whether the argument is an object with \`fields\`. Otherwise \`fields\` describes the argument itself.
    """
    isObject: Boolean!
    """
    The fields to fill in. \`onCreate\` says whether a field is required.
    """
    fields: [EntityField!]!
  }

  """
  A mutation of one row.
  """
  type EntityMutation {
    """
    The name of the mutation.
    """
    field: String!
    """
    The type of the argument \`input\`.
    """
    inputType: String
    """
    Whether the mutation has the argument \`ifVersion\`.
    """
    takesVersion: Boolean!
    """
    The mutation that changes or deletes many rows at once; null if there is none.
    """
    bulk: EntityBulkMutation
    """
    The field with the user whose rows alone the mutation changes. If null, it changes all rows that the caller may read.
    """
    ownerField: String
    """
    The arguments besides \`id\`, \`input\` and \`ifVersion\`, in the order of a form.
    """
    arguments: [ConsoleArgument!]!
  }

  """
  A mutation of many rows, by the arguments \`ids\` or \`query\`, with \`dryRun\`. It returns a \`BulkResult\`.
  """
  type EntityBulkMutation {
    """
    The name of the mutation.
    """
    field: String!
    """
    The largest number of rows.
    """
    mostRows: Int!
  }

  """
  An operation on a table that the caller may not execute, with the missing permission.
  """
  type MissingPermission {
    """
    \`create\`, \`update\` or \`delete\`.
    """
    verb: String!
    """
    The key of the missing permission; null if a session is required instead.
    """
    permission: String
    """
    A description of what the permission allows.
    """
    description: String!
  }

  """
  The kind of a field, which determines how it is displayed and edited.
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
    A calendar date.
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
    A JSON value.
    """
    JSON
  }

  """
  Whether a mutation accepts a field.
  """
  enum FieldUse {
    """
    The mutation does not accept the field.
    """
    NO
    """
    The field can be omitted.
    """
    OPTIONAL
    """
    The field is required.
    """
    REQUIRED
  }

  """
  A field of a table.
  """
  type EntityField {
    """
    The name of the field in the API.
    """
    name: String!
    """
    The title of the field, without its unit.
    """
    title: String!
    """
    A description of the field.
    """
    description: String
    """
    The kind of the field, which determines how it is displayed and edited.
    """
    kind: EntityFieldKind!
    """
    The editor within its kind, such as \`color\`, \`url\` or \`long\`.
    """
    widget: String
    """
    The unit of the numbers, such as \`bottles\`.
    """
    unit: String
    """
    The unit of the number 1, such as \`bottle\`.
    """
    unitOne: String
    """
    The field of the same row that holds the currency of an amount.
    """
    currencyField: String
    """
    The values of an enumeration.
    """
    values: [EntityValue!]!
    """
    The table to which the field refers.
    """
    reference: EntityReference
    """
    Whether the field holds a list.
    """
    isList: Boolean!
    """
    Whether the field can be null.
    """
    isNullable: Boolean!
    """
    Whether the field exists only in mutations and not in rows.
    """
    isInputOnly: Boolean!
    """
    Whether the create mutation accepts the field.
    """
    onCreate: FieldUse!
    """
    Whether the update mutation accepts the field.
    """
    onUpdate: FieldUse!
    """
    The maximum number of characters.
    """
    maxLength: Int
    """
    The smallest number that the field can hold, as text.
    """
    minimum: String
    """
    The largest number that the field can hold, as text.
    """
    maximum: String
    """
    The number of decimal places of a decimal number; null if it is not fixed.
    """
    decimals: Int
    """
    The default value of a new row, as text; null without a default value or with a computed one.
    """
    defaultValue: String
    """
    The values of \`orderBy\` that order by the field; empty without an index.
    """
    orderBy: [String!]!
    """
    The name of the field in the query language; null if it cannot be searched.
    """
    searchName: String
    """
    The position in lists. 0 hides the field; with null the front end chooses the position.
    """
    place: Int
    """
    The heading of the field's section in forms.
    """
    section: String
  }

  """
  A value of an enumeration.
  """
  type EntityValue {
    """
    The value in the API.
    """
    value: String!
    """
    The display name of the value.
    """
    title: String!
    """
    The tone of the value: \`ok\`, \`warn\`, \`bad\` or \`info\`.
    """
    tone: String
  }

  """
  The reference of a field to another table.
  """
  type EntityReference {
    """
    The other table.
    """
    entity: String!
    """
    The title of one row of that table, which names rows without a label.
    """
    titleOne: String!
    """
    The field of the same row that returns the other row.
    """
    field: String
    """
    The field of the other row whose value the reference holds.
    """
    keyField: String!
    """
    The field with the display name of the other row.
    """
    nameField: String!
    """
    The field that distinguishes rows with the same name. It also names rows without a name.
    """
    detailField: String
    """
    The field with the colour of the other row.
    """
    colorField: String
    """
    The search that a row must match to be offered in a form.
    """
    choices: String
  }

  """
  A relation from another table whose rows refer to a row.
  """
  type EntityRelation {
    """
    The identifier of the relation.
    """
    field: String!
    """
    The title of the relation.
    """
    title: String!
    """
    The other table.
    """
    entity: String!
    """
    The field of the other table with the id of the row, as named in the query language.
    """
    by: String!
  }

  extend type Query {
    """
    The tables, fields and mutations that a front end can offer to the caller with the caller's permissions. Null if
    \`ifNot\` is the current version.
    """
    console(
      """
      The version that the front end already has.
      """
      ifNot: String
    ): Console @scope(guard: "login")
  }
`;
