import { type DemoWine, demoWines } from "./wines.ts";

const reviewers = ["Vinklubben's panel", "Karen Skovgaard", "The Cork Letter"] as const;
const latestVintage = 2022;
const vintages = 4;

/**
 * The number of the product at an index of the catalogue. It equals the number of an item of the ERP emulator, so
 * that orders refer to the product.
 */
function productNumber(index: number): string {
  return index % 10 === 3 ? String(index).padStart(6, "0") : String(100_000 + index);
}

/** A pseudo-random number from 0 to `below` - 1, derived from the index. */
const vary = (index: number, salt: number, below: number) =>
  (((index + 1) * 2_654_435_761 + salt * 40_503) % 4_294_967_296) % below;

/** One product as input of `syncProducts`. */
function productOf(wine: DemoWine, age: number, index: number) {
  const vintage = latestVintage - age;
  const price = Math.round(wine.priceDkk * (1 + age * 0.06));
  const number = productNumber(index);
  const name = `${wine.name} ${vintage}`;
  return {
    erpProductNumber: number,
    fields: {
      name,
      vintage,
      wineType: wine.wineType,
      producer: wine.producer,
      grapeVariety: wine.grapes,
      country: wine.country,
      province: wine.province,
      region: wine.region,
      description: `${wine.grapes} from ${wine.region} in ${wine.country}, with notes of ${wine.taste}.`,
      alcoholPercent: wine.alcoholPercent.toFixed(1),
      bottleSizeMl: vary(index, 1, 12) === 0 ? 1500 : 750,
      stockQuantity: vary(index, 2, 20) === 0 ? 0 : vary(index, 3, 600),
      isActive: vary(index, 4, 25) !== 0,
    },
    prices: [
      { type: "retail", currency: "DKK", amount: `${price}.00` },
      { type: "retail", currency: "EUR", amount: (price / 7.46).toFixed(2) },
      { type: "wholesale", currency: "DKK", amount: (price * 0.68).toFixed(2) },
    ],
    ratings: reviewers
      .slice(0, vary(index, 5, reviewers.length + 1))
      .map((reviewerName, place) => ({
        reviewerName,
        year: vintage + 3,
        points: String(84 + vary(index, 6 + place, 14)),
        review: `${wine.taste.charAt(0).toUpperCase()}${wine.taste.slice(1)}.`,
      })),
    images: { items: [{ url: `https://pictures.example/wines/${number}.jpg`, altText: name }] },
  };
}

export type DemoProduct = ReturnType<typeof productOf>;

/** About 200 products: each wine in its last vintages. */
export const demoProducts: readonly DemoProduct[] = demoWines.flatMap((wine, place) =>
  Array.from({ length: vintages }, (_, age) => productOf(wine, age, place * vintages + age + 1)),
);
