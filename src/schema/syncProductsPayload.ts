import { gql } from "postgraphile/utils";

/** The field `syncProducts` and its payload. */
export const syncProductsPayload = gql`
  """
  What became of a row; in a dry run, what would become of it.
  """
  enum SyncProductStatus {
    """
    There was no product of this number; now there is.
    """
    CREATED
    """
    The product, or its prices, images or ratings, changed.
    """
    UPDATED
    """
    The row says nothing new; nothing was written.
    """
    UNCHANGED
    """
    The row's \`sourceUpdatedAt\` is older than the stored one; nothing was written.
    """
    STALE
    """
    The row has errors; nothing of it was written.
    """
    FAILED
  }

  """
  Why a row failed.
  """
  enum SyncProductErrorCode {
    """
    A value that must be there is missing, null or blank.
    """
    REQUIRED
    """
    A value is outside what is allowed; the message says what is.
    """
    INVALID
    """
    The same number, price, image or rating is in the list a second time.
    """
    DUPLICATE
    """
    There is no wine type of this name; the message lists the nearest.
    """
    UNKNOWN_WINE_TYPE
    """
    The row itself is right, but another one failed and the policy is \`REJECT_ALL\`.
    """
    REJECTED_WITH_OTHERS
  }

  """
  Something that is wrong with a row.
  """
  type SyncProductError {
    """
    Why, for programs.
    """
    code: SyncProductErrorCode!
    """
    Where in the arguments, places in lists counted from 0: \`input\`, \`products\`, \`3\`, \`prices\`, \`0\`, \`currency\`.
    """
    path: [String!]!
    """
    Why, for people.
    """
    message: String!
  }

  """
  What became of one row of the call.
  """
  type SyncProductResult {
    """
    The number, as it was sent.
    """
    erpProductNumber: String!
    """
    What became of the row.
    """
    status: SyncProductStatus!
    """
    The product of this number as it is stored now; null when there is none.
    """
    product: Product
    """
    What is wrong with the row; empty unless it FAILED.
    """
    errors: [SyncProductError!]!
  }

  """
  What became of the call's rows.
  """
  type SyncProductsPayload {
    """
    The stored products of all rows that did not fail, in the order of the rows.
    """
    products: [Product!]!
    """
    One result for each row, in the order of the rows.
    """
    results: [SyncProductResult!]!
    """
    How many products were created.
    """
    createdCount: Int!
    """
    How many products were updated.
    """
    updatedCount: Int!
    """
    How many rows said nothing new.
    """
    unchangedCount: Int!
    """
    How many rows were out of date.
    """
    staleCount: Int!
    """
    How many rows failed.
    """
    failedCount: Int!
    """
    Whether nothing was written because a dry run was asked for.
    """
    dryRun: Boolean!
  }

  extend type Mutation {
    """
    Creates and updates up to 1000 products, matched by \`erpProductNumber\` byte for byte, with their prices, pictures and
    ratings. What a row leaves out stays as it is, null clears it; a repeated call writes nothing. No product is ever
    deleted. With the policy \`REJECT_ALL\`, rows that would have been written are FAILED with the code
    \`REJECTED_WITH_OTHERS\` when another row fails. Writing ratings also needs \`reviewers.read\` and \`reviewers.create\`.
    """
    syncProducts(
      """
      The products and how to treat them.
      """
      input: SyncProductsInput!
    ): SyncProductsPayload! @scope(guard: "products.create products.update")
  }
`;
