import { gql } from "postgraphile/utils";

/** The input of `syncProducts`. */
export const syncProductsInput = gql`
  """
  How a failed row affects the other rows of a call.
  """
  enum SyncErrorPolicy {
    """
    Writes nothing if one row fails.
    """
    REJECT_ALL
    """
    Skips failed rows and writes the others.
    """
    REJECT_FAILED_ROWS
  }

  """
  How a list of the call is combined with the stored list.
  """
  enum SyncListMode {
    """
    Adds items to the stored ones or changes them; removes none.
    """
    MERGE
    """
    Replaces the stored list with the list of the call.
    """
    REPLACE
  }

  """
  The fields of a product. Omitted fields stay unchanged; null clears a field.
  """
  input SyncProductFieldsInput {
    """
    The name of the product, 1 to 300 visible characters. Required for a new product; cannot be null.
    """
    name: String
    """
    The year of the harvest, 1700 to 2200.
    """
    vintage: Int
    """
    The name of an existing wine type, without regard to case.
    """
    wineType: String
    """
    The producer.
    """
    producer: String
    """
    The grape variety or blend.
    """
    grapeVariety: String
    """
    The country of origin.
    """
    country: String
    """
    The province or wider region of origin.
    """
    province: String
    """
    The region of origin.
    """
    region: String
    """
    A description for customers.
    """
    description: String
    """
    The alcohol by volume in per cent, a decimal as text with at most two decimal places, such as \`13.5\`.
    """
    alcoholPercent: String
    """
    The volume of the bottle, in millilitres.
    """
    bottleSizeMl: Int
    """
    The number of bottles in stock.
    """
    stockQuantity: Int
    """
    Whether the product is on sale. Defaults to true for a new product; cannot be null.
    """
    isActive: Boolean
  }

  """
  A price. A product has at most one price for each type and currency.
  """
  input SyncProductPriceInput {
    """
    The type of the price, such as \`retail\` or \`wholesale\`: a-z, 0-9 and _, starting with a letter.
    """
    type: String!
    """
    The ISO 4217 code of the currency, such as \`DKK\`.
    """
    currency: String!
    """
    The price of one bottle, a decimal as text with at most two decimal places, such as \`129.95\`. Required; null
    removes the price.
    """
    amount: String
  }

  """
  A picture, identified by its address.
  """
  input SyncProductImageInput {
    """
    An https:// address on a public host.
    """
    url: String!
    """
    A text that describes the picture. If omitted, it stays unchanged (\`MERGE\`) or is cleared (\`REPLACE\`).
    """
    altText: String
    """
    The position among the product's pictures, in ascending order. If omitted, it stays unchanged and new pictures come
    last (\`MERGE\`), or it is the position in this list (\`REPLACE\`).
    """
    position: Int
  }

  """
  The pictures to add or change, or the complete list of pictures.
  """
  input SyncProductImagesInput {
    """
    Whether stored pictures that are not in the list stay (\`MERGE\`) or are removed (\`REPLACE\`).
    """
    mode: SyncListMode = MERGE
    """
    The pictures.
    """
    items: [SyncProductImageInput!]!
  }

  """
  A rating. A product has at most one rating for each reviewer and year, and one for each reviewer without a year.
  """
  input SyncProductRatingInput {
    """
    The reviewer's name, matched without regard to case. If no reviewer matches, a new one is created.
    """
    reviewerName: String!
    """
    The year of the rating, if known.
    """
    year: Int
    """
    The points from 0 to 100, a decimal as text with at most two decimal places.
    """
    points: String!
    """
    The text of the review. If omitted, it stays unchanged; null clears it.
    """
    review: String
  }

  """
  A product. Omitted sections stay unchanged.
  """
  input SyncProductInput {
    """
    The product number of the ERP, matched byte for byte with leading zeros.
    """
    erpProductNumber: String!
    """
    When the product last changed in the ERP. A row older than the stored product is STALE. A row without this time is
    always accepted and does not change the stored time.
    """
    sourceUpdatedAt: DateTime
    """
    The fields of the product. Cannot be null.
    """
    fields: SyncProductFieldsInput
    """
    The prices to set, merged by type and currency; null removes all prices.
    """
    prices: [SyncProductPriceInput!]
    """
    The pictures, merged by address unless the mode is \`REPLACE\`; null removes all pictures.
    """
    images: SyncProductImagesInput
    """
    The ratings to set, merged by reviewer and year; null removes all ratings. Writing ratings also needs
    \`reviewers.read\` and \`reviewers.create\`.
    """
    ratings: [SyncProductRatingInput!]
  }

  """
  The input of \`syncProducts\`.
  """
  input SyncProductsInput {
    """
    1 to 1000 products. A repeated product number fails in its second row.
    """
    products: [SyncProductInput!]! = []
    """
    How a failed row affects the other rows.
    """
    errorPolicy: SyncErrorPolicy = REJECT_FAILED_ROWS
    """
    Whether to return the results without writing anything.
    """
    dryRun: Boolean = false
  }
`;
