import { demoProducts } from "./products.ts";

export interface DemoCampaign {
  title: string;
  /** The product's number. */
  product: string;
  medium: "EMAIL" | "SMS" | "SOCIAL" | "WEB" | "PRINT" | "EVENT";
  status: "DRAFT" | "SCHEDULED" | "ACTIVE" | "PAUSED" | "COMPLETED" | "CANCELLED";
  price: string;
  scheduledAt: Date;
}

const plans = [
  ["Barolo week", "Barolo Serra Alta", "EMAIL", "COMPLETED"],
  ["Burgundy evening", "Gevrey Vieilles Vignes", "EVENT", "COMPLETED"],
  ["Three for two: Rioja", "Rioja Reserva", "WEB", "ACTIVE"],
  ["Riesling and asparagus", "Riesling Kabinett Schieferlay", "SOCIAL", "ACTIVE"],
  ["Rosé on the terrace", "Côtes de Provence Rosé", "SMS", "PAUSED"],
  ["Champagne for the weekend", "Champagne Brut Réserve", "EMAIL", "SCHEDULED"],
  ["Port and cheese", "Vintage Port", "EVENT", "SCHEDULED"],
  ["Etna: wines of a volcano", "Etna Rosso Contrada Nera", "PRINT", "DRAFT"],
  ["New arrivals from Tokaj", "Tokaji Aszú 5 Puttonyos", "WEB", "DRAFT"],
  ["Magnum auction", "Amarone della Valpolicella", "PRINT", "CANCELLED"],
] as const;

/** Campaigns in every state, spread over the month of `now`. One of them is on the day `authorAwayOn` (`YYYY-MM-DD`). */
export function demoCampaigns(now: Date, authorAwayOn: string): DemoCampaign[] {
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return plans.map(([title, wine, medium, status], index) => {
    const product = demoProducts.find(({ fields }) => fields.name.startsWith(wine));
    if (!product) throw new Error(`The demo has no product ${wine}`);
    const day = 1 + Math.floor((index * (lastDay - 1)) / (plans.length - 1));
    const inMonth = new Date(Date.UTC(year, month, day, 8));
    const isPlanned = status === "SCHEDULED";
    // A scheduled campaign would start at once if its time had passed.
    const scheduledAt =
      isPlanned && inMonth <= now ? new Date(now.getTime() + 86_400_000) : inMonth;
    return {
      title,
      product: product.erpProductNumber,
      medium,
      status,
      price: `DKK ${product.prices[0]?.amount ?? ""}`,
      scheduledAt:
        title === "Port and cheese" ? new Date(`${authorAwayOn}T08:00:00Z`) : scheduledAt,
    };
  });
}
