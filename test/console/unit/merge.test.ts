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
        const merged = merge(base, mine, theirs);
        const asked = merged.clashes.map(({ field }) => field);
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
    );
    expect(clashes).toEqual([
      { field: "name", base: "Barolo", mine: "Barolo Bussia", theirs: "Barolo Riserva" },
    ]);
    expect(takenFromTheirs).toEqual(["region"]);
  });
});
