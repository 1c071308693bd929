import { gql } from "postgraphile/utils";

/** The input of `syncProducts`. */
export const syncProductsInput = gql`
  """
  What happens to the other rows of a call when one fails.
  """
  enum SyncErrorPolicy {
    """
    Nothing is written unless every row can be.
    """
    REJECT_ALL
    """
    Rows that fail are left out, the others are written.
    """
    REJECT_FAILED_ROWS
  }

  """
  How a list of the call meets the list that is stored.
  """
  enum SyncListMode {
    """
    Items are added to those that are stored, or change them; none is removed.
    """
    MERGE
    """
    The list becomes exactly what the call says.
    """
    REPLACE
  }

  """
  The fields of a product. What is left out stays as it is; null clears.
  """
  input SyncProductFieldsInput {
    """
    The name on the list, 1 to 300 visible characters. A new product needs one; it cannot be null.
    """
    name: String
    """
    Year of the harvest, 1700 to 2200.
    """
    vintage: Int
    """
    Name of the wine type, in any case; it must exist.
    """
    wineType: String
    """
    Who makes it.
    """
    producer: String
    """
    Grape or blend.
    """
    grapeVariety: String
    """
    Country of origin.
    """
    country: String
    """
    Province or wider region of origin.
    """
    province: String
    """
    Region of origin.
    """
    region: String
    """
    Text for the customer.
    """
    description: String
    """
    Alcohol by volume in per cent, a decimal as text with two places at most, such as \`13.5\`.
    """
    alcoholPercent: String
    """
    Content of the bottle, in millilitres.
    """
    bottleSizeMl: Int
    """
    Bottles in stock.
    """
    stockQuantity: Int
    """
    Whether the product is on sale; true for a new product unless given. It cannot be null.
    """
    isActive: Boolean
  }

  """
  A price. Of each type and currency a product has one.
  """
  input SyncProductPriceInput {
    """
    What the price is for, such as \`retail\` or \`wholesale\`: a-z, 0-9 and _, a letter first.
    """
    type: String!
    """
    ISO 4217 code, such as \`DKK\`.
    """
    currency: String!
    """
    The price of one bottle, a decimal as text with two places at most, such as \`129.95\`. It must be given; null removes
    the price.
    """
    amount: String
  }

  """
  A picture, known by its address.
  """
  input SyncProductImageInput {
    """
    An https:// address on a public host.
    """
    url: String!
    """
    What the picture shows, in words. Left out, it stays as it is (\`MERGE\`) or is cleared (\`REPLACE\`).
    """
    altText: String
    """
    Place among the product's pictures, smallest first. Left out, it stays as it is and new pictures come last
    (\`MERGE\`), or it is the place in this list (\`REPLACE\`).
    """
    position: Int
  }

  """
  Pictures to add or change, or all pictures there are to be.
  """
  input SyncProductImagesInput {
    """
    Whether pictures that are not in the list stay.
    """
    mode: SyncListMode = MERGE
    """
    The pictures.
    """
    items: [SyncProductImageInput!]!
  }

  """
  A rating. Of each reviewer and year, or reviewer without a year, a product has one.
  """
  input SyncProductRatingInput {
    """
    The reviewer's name, matched without regard to case; a reviewer is created when none matches.
    """
    reviewerName: String!
    """
    Year of the rating, where one is known.
    """
    year: Int
    """
    Points from 0 to 100, a decimal as text with two places at most.
    """
    points: String!
    """
    The reviewer's words. Left out, they stay as they are; null clears them.
    """
    review: String
  }

  """
  One product. A section that is left out stays as it is.
  """
  input SyncProductInput {
    """
    The ERP's number, matched byte for byte, leading zeros included.
    """
    erpProductNumber: String!
    """
    When the ERP last changed the product. A row that is older than what is stored is STALE; a row without this time is
    always taken, and leaves the stored time as it is.
    """
    sourceUpdatedAt: DateTime
    """
    The product's own fields. It cannot be null.
    """
    fields: SyncProductFieldsInput
    """
    Prices to set, merged by type and currency; null removes all.
    """
    prices: [SyncProductPriceInput!]
    """
    Pictures, merged by address unless the mode is \`REPLACE\`; null removes all.
    """
    images: SyncProductImagesInput
    """
    Ratings to set, merged by reviewer and year; null removes all. Writing them also needs \`reviewers.read\` and
    \`reviewers.create\`.
    """
    ratings: [SyncProductRatingInput!]
  }

  """
  What \`syncProducts\` takes.
  """
  input SyncProductsInput {
    """
    1 to 1000 products; a number that comes a second time fails there.
    """
    products: [SyncProductInput!]! = []
    """
    What happens to the other rows when one fails.
    """
    errorPolicy: SyncErrorPolicy = REJECT_FAILED_ROWS
    """
    Whether only to say what would happen, and to write nothing.
    """
    dryRun: Boolean = false
  }
`;
