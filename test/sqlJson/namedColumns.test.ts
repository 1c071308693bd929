import { expect, test } from "@jest/globals";
import { GraphQLEnumType } from "graphql";
import { PublicError } from "../../src/errors/PublicError.ts";
import { namedColumns } from "../../src/paging/orders.ts";
import { unlessUnsupported } from "../../src/sqlJson/selection.ts";

const type = new GraphQLEnumType({ name: "WineOrderBy", values: { BY_TASTE: {} } });

test("names an order that is not by columns", () => {
  expect(() => namedColumns(type, ["BY_TASTE"])).toThrow(
    new PublicError("BAD_USER_INPUT", "orderBy: `BY_TASTE` is not an order by columns"),
  );
});

test("leaves an order that is not by columns to Grafast", () => {
  expect(unlessUnsupported(() => namedColumns(type, ["BY_TASTE"]))).toBeNull();
});
