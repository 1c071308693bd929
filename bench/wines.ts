import { readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";

/** A row of the wine reviews file that benchmarks accept. */
export interface Wine {
  erp_product_number: string;
  name: string;
  vintage: string;
  producer: string;
  variety: string;
  country: string;
  province: string;
  region: string;
  price_usd: string;
  points: string;
  reviewer_name: string;
  review: string;
}

/** Reads the wine reviews of a CSV file. */
export function readWines(file: string): Wine[] {
  return parse<Wine>(readFileSync(file), { columns: true, bom: true });
}
