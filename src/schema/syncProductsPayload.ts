import { gql } from "postgraphile/utils";

/** The field `syncProducts` and its payload. */
export const syncProductsPayload = gql`
  """
  The result of a row; in a dry run, the expected result.
  """
  enum SyncProductStatus {
    """
    A product with this number was created.
    """
    CREATED
    """
    The product or its prices, images or ratings were changed.
    """
    UPDATED
    """
    The row equals the stored product; nothing was written.
    """
    UNCHANGED
    """
    The row's \`sourceUpdatedAt\` is older than the stored one; nothing was written.
    """
    STALE
    """
    The row has errors; nothing was written for it.
    """
    FAILED
  }

  """
  The reason why a row failed.
  """
  enum SyncProductErrorCode {
    """
    A required value is missing, null or blank.
    """
    REQUIRED
    """
    A value is not allowed; the message states the allowed values.
    """
    INVALID
    """
    The list contains the same number, price, image or rating twice.
    """
    DUPLICATE
    """
    No wine type has this name; the message lists similar names.
    """
    UNKNOWN_WINE_TYPE
    """
    The row is valid, but another row failed and the policy is \`REJECT_ALL\`.
    """
    REJECTED_WITH_OTHERS
  }

  """
  An error of a row.
  """
  type SyncProductError {
    """
    The error code.
    """
    code: SyncProductErrorCode!
    """
    The path in the arguments, with list indexes from 0: \`input\`, \`products\`, \`3\`, \`prices\`, \`0\`,
    \`currency\`.
    """
    path: [String!]!
    """
    A human-readable error message.
    """
    message: String!
  }

  """
  The result of one row of the call.
  """
  type SyncProductResult {
    """
    The product number, as sent.
    """
    erpProductNumber: String!
    """
    The status of the row.
    """
    status: SyncProductStatus!
    """
    The stored product with this number; null if there is none.
    """
    product: Product
    """
    The errors of the row; empty unless it FAILED.
    """
    errors: [SyncProductError!]!
  }

  """
  The results of the call.
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
    The number of created products.
    """
    createdCount: Int!
    """
    The number of updated products.
    """
    updatedCount: Int!
    """
    The number of unchanged rows.
    """
    unchangedCount: Int!
    """
    The number of stale rows.
    """
    staleCount: Int!
    """
    The number of failed rows.
    """
    failedCount: Int!
    """
    Whether the call was a dry run, which writes nothing.
    """
    dryRun: Boolean!
  }

  extend type Mutation {
    """
    Creates and updates up to 1000 products, matched by \`erpProductNumber\` byte for byte, with their prices, pictures
    and ratings. Omitted fields stay unchanged, null clears a field; a repeated call writes nothing. Products are never
    deleted. With the policy \`REJECT_ALL\`, if one row fails, all rows that would have been written are FAILED with the
    code \`REJECTED_WITH_OTHERS\`. Writing ratings also needs \`reviewers.read\` and \`reviewers.create\`.
    """
    syncProducts(
      """
      The products and the options of the call.
      """
      input: SyncProductsInput!
    ): SyncProductsPayload! @scope(guard: "products.create products.update")
  }
`;
