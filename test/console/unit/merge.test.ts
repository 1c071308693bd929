import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { merge } from "../../../admin/src/generic/conflict/merge.ts";
import { propertyRuns } from "../../helpers/propertyRuns.ts";

const names = ["name", "region", "vintage", "isActive"] as const;
// Few values, so that both sides often choose the same one.
const values = fc.record(
  Object.fromEntries(names.map((name) => [name, fc.constantFrom("a", "b", "c", "")])),
);

describe("merging two changes of one row", () => {
  test("keeps each edit without a conflict and asks for every other one", () => {
    fc.assert(
      fc.property(values, values, values, (base, mine, theirs) => {
        const merged = merge(base, mine, theirs, new Map());
        const asked = merged.clashes.flatMap(({ fields }) => fields);
        for (const name of names) {
          const iChanged = mine[name] !== base[name];
          const theyChanged = theirs[name] !== base[name];
          const isContradicted = iChanged && theyChanged && mine[name] !== theirs[name];
          expect(asked.includes(name)).toBe(isContradicted);
          expect(merged.takenFromTheirs.includes(name)).toBe(theyChanged && !iChanged);
          // The local edit stays until the user has chosen.
          const expected = iChanged ? mine[name] : theirs[name];
          expect(merged.values[name]).toBe(expected);
        }
      }),
      propertyRuns(500),
    );
  });

  test("shows both values of a conflict and the original one", () => {
    const { clashes, takenFromTheirs } = merge(
      { name: "Barolo", region: "Piemonte" },
      { name: "Barolo Bussia", region: "Piemonte" },
      { name: "Barolo Riserva", region: "Langhe" },
      new Map(),
    );
    expect(clashes).toEqual([
      {
        fields: ["name"],
        base: { name: "Barolo" },
        mine: { name: "Barolo Bussia" },
        theirs: { name: "Barolo Riserva" },
      },
    ]);
    expect(takenFromTheirs).toEqual(["region"]);
  });
});

describe("merging amounts in one currency", () => {
  const currencies = new Map([
    ["net", "currency"],
    ["vat", "currency"],
  ]);
  const base = { net: "300", vat: "75", currency: "DKK", note: "" };
  const mergeChanges = (mine: Partial<typeof base>, theirs: Partial<typeof base>) =>
    merge(base, { ...base, ...mine }, { ...base, ...theirs }, currencies);

  test("asks when one side changed an amount and the other one its currency", () => {
    for (const [mine, theirs] of [
      [{ net: "310" }, { currency: "EUR" }],
      [{ currency: "EUR" }, { vat: "80" }],
      [{ currency: "EUR" }, { currency: "EUR", net: "40" }],
    ]) {
      const { clashes, values, takenFromTheirs } = mergeChanges(mine ?? {}, theirs ?? {});
      expect(clashes).toEqual([
        {
          fields: ["net", "vat", "currency"],
          base: { net: "300", vat: "75", currency: "DKK" },
          mine: { net: "300", vat: "75", currency: "DKK", ...mine },
          theirs: { net: "300", vat: "75", currency: "DKK", ...theirs },
        },
      ]);
      expect(values).toEqual({ ...base, ...mine });
      expect(takenFromTheirs).toEqual([]);
    }
  });

  test("keeps two amounts in the same currency", () => {
    const { clashes, values } = mergeChanges({ net: "310" }, { vat: "80" });
    expect(clashes).toEqual([]);
    expect(values).toEqual({ ...base, net: "310", vat: "80" });
  });

  test("accepts equal changes of both, and changes of one side", () => {
    const change = { net: "40", currency: "EUR" };
    for (const [mine, theirs] of [
      [change, change],
      [change, { note: "x" }],
      [{ note: "x" }, change],
    ]) {
      const { clashes, values } = mergeChanges(mine ?? {}, theirs ?? {});
      expect(clashes).toEqual([]);
      expect(values).toEqual({ ...base, ...mine, ...theirs });
    }
  });
});
