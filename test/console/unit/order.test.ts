import { describe, expect, test } from "@jest/globals";
import { nextOrder } from "../../../admin/src/generic/list/order.ts";
import type { EntityField } from "../../../admin/src/meta/entities.ts";

const fieldOf = (...orderBy: string[]) => ({ orderBy }) as EntityField;
const name = fieldOf("NAME_ASC", "NAME_DESC");
const written = fieldOf("CREATED_AT_ASC", "CREATED_AT_DESC");

/** The orders after each click on the title of a column, from the default of the list. */
function clicks(field: EntityField, defaultOrder: string[], count: number) {
  let order: string | undefined;
  return Array.from({ length: count }, () => {
    const shown = order === undefined ? defaultOrder : [order];
    order = nextOrder(field, shown, defaultOrder);
    return order;
  });
}

describe("the order after clicks on a column's title", () => {
  test("is ascending, descending, then that of the list", () => {
    expect(clicks(name, ["CREATED_AT_DESC", "ID_DESC"], 4)).toEqual([
      "NAME_ASC",
      "NAME_DESC",
      undefined,
      "NAME_ASC",
    ]);
  });

  test("changes at each click where the list is ordered by the column", () => {
    expect(clicks(written, ["CREATED_AT_DESC"], 3)).toEqual([
      "CREATED_AT_ASC",
      undefined,
      "CREATED_AT_ASC",
    ]);
    expect(clicks(name, ["NAME_ASC", "ID_ASC"], 3)).toEqual(["NAME_DESC", undefined, "NAME_DESC"]);
  });

  test("is that of the list after the only direction that an index has", () => {
    expect(clicks(fieldOf("NAME_ASC"), ["CREATED_AT_DESC"], 2)).toEqual(["NAME_ASC", undefined]);
  });
});
