import { existsSync, readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";

export interface ReviewedWine {
  id: string;
  name: string;
  producer: string;
  country?: string;
  vintage?: number;
  price?: number;
  points: number;
}

// Uses real wine reviews if the file exists, otherwise these samples.
const reviews = new URL("../../../../shared/data/wine-reviews.csv", import.meta.url);
const few = `erp_product_number,name,vintage,producer,country,price_usd,points
A1,Château Belvoir 2011 Chardonnay (Mâcon),2011,Château Belvoir,France,19,88
A2,Château Belvoir 2012 Chardonnay (Mâcon),2012,Château Belvoir,France,21,87
A3,Colline Rosse 2013 Vulkà Bianco (Etna),2013,Colline Rosse,Italy,,87
A4,Old Barn NV Sauvignon Blanc,,Old Barn,US,11,85
A5,Old Barn 2012 Chardonnay,2012,Old Barn,US,24,86
A6,Herrenberg 2012 Riesling trocken,2012,Herrenberg,Germany,16,90
`;

/** Wines with realistic data: accents, apostrophes, and missing vintages and prices. */
export function readWines(): ReviewedWine[] {
  const text = existsSync(reviews) ? readFileSync(reviews, "utf8") : few;
  const rows: Record<string, string>[] = parse(text, { columns: true });
  return rows.map((row) => ({
    id: row.erp_product_number ?? "",
    name: row.name ?? "",
    producer: row.producer ?? "",
    ...(row.country && { country: row.country }),
    ...(row.vintage && { vintage: Number(row.vintage) }),
    ...(row.price_usd && { price: Number(row.price_usd) }),
    points: Number(row.points),
  }));
}
