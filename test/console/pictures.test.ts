import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { demoProducts } from "../../dev/demo/products.ts";
import { launchBrowser } from "../helpers/console/browser.ts";
import { type Journey, type JourneyOptions, withJourney } from "../helpers/console/journey.ts";
import { makeUser } from "../helpers/loginPeople.ts";
import { type Service, startService } from "../helpers/service.ts";

// Each page wide, in both themes, and narrow. With SCREENSHOTS=1 this writes the pictures of the documentation.

const looks: [string, JourneyOptions, regions: [mine: string, theirs: string]][] = [
  ["wide", {}, ["Roero", "Alba"]],
  ["narrow", { width: 390, height: 720 }, ["Gavi", "Novello"]],
];

let browser: Browser;
let service: Service;
let anna: string;
let bo: string;
let product: string;

const ask = async (token: string, query: string, variables: object = {}) => {
  const { data, errors } = await service.ask(query, { token, variables: { ...variables } });
  expect(errors).toBeUndefined();
  return data;
};

beforeAll(async () => {
  [browser, service] = await Promise.all([launchBrowser(), startService()]);
  const { data } = await service.ask(
    `mutation { bootstrapFirstUser(email: "anna@wine.example") { token user { id } } }`,
  );
  anna = String(data.bootstrapFirstUser.token);
  const bosLogin = await service.login(["products.read", "products.update"], "bo@wine.example");
  bo = bosLogin.token;
  for (const [id, name] of [
    [data.bootstrapFirstUser.user.id, "Anna Holm"],
    [bosLogin.userId, "Bo Friis"],
  ])
    await ask(
      anna,
      `mutation ($id: ID!, $name: String!) { updateUser(id: $id, input: { name: $name }) { id } }`,
      { id, name },
    );
  await ask(
    anna,
    `mutation ($products: [SyncProductInput!]!) {
       syncProducts(input: { products: $products, errorPolicy: REJECT_ALL }) { createdCount } }`,
    { products: demoProducts },
  );
  for (const [index, name] of rooms.entries())
    await ask(
      anna,
      `mutation ($input: CreateResourceInput!) { createResource(input: $input) { id } }`,
      { input: { name, kind: "ROOM", capacity: 4 * index + 4, location: "First floor" } },
    );
  const found = await ask(anna, "{ products(first: 1, orderBy: [NAME_ASC]) { nodes { id } } }");
  product = String(found.products.nodes[0].id);
  await update(bo, { region: "Langhe", alcoholPercent: "13.5" });
  await update(anna, { stockQuantity: 420 });
});
afterAll(async () => {
  await browser.close();
  await service.stop();
});

/** Rooms with different names, for the report. */
const rooms = ["Barrique", "Jeroboam", "Magnum"];

const update = (token: string, input: object) =>
  ask(
    token,
    `mutation ($id: ID!, $input: UpdateProductInput!) { updateProduct(id: $id, input: $input) { id } }`,
    { id: product, input },
  );

describe.each(looks)("in the look %s", (look, options, [mine, theirs]) => {
  /** Checks the page, and writes its pictures. */
  const picture = ({ show }: Journey, page: string) =>
    look === "wide" ? show(page, "themes") : show(`${page}-${look}`);

  test("the login is accessible", async () => {
    await makeUser(service, `clara-${look}@wine.example`);
    await withJourney({ browser, service }, options, async (journey) => {
      const { page, open, expectProblem } = journey;
      expectProblem("401 POST /graphql");
      await open();
      await page.getByLabel("E-mail").waitFor();
      await picture(journey, "login");
    });
  });

  test("the pages of a list and of a record are accessible", async () => {
    await withJourney({ browser, service }, { ...options, token: anna }, async (journey) => {
      const { page, open } = journey;
      await open();
      await page.getByRole("link", { name: /\d/ }).first().waitFor();
      await picture(journey, "today");
      await open("/products");
      await page.locator(":is([role=gridcell], [role=rowheader]) .text").first().waitFor();
      await page.locator(".cm-content").waitFor();
      await picture(journey, "list");
      await page.keyboard.press("ControlOrMeta+k");
      await page.getByRole("dialog").waitFor();
      await page.keyboard.type("bar");
      await page.getByRole("option", { name: /Bar/ }).first().waitFor();
      await picture(journey, "palette");
      await open(`/products?open=products/${product}`);
      await page.getByRole("dialog").getByRole("tab", { name: "Fields" }).waitFor();
      await picture(journey, "drawer");
      await open(`/products/${product}`);
      await page.getByRole("tab", { name: "Fields" }).waitFor();
      await picture(journey, "record");
      await page.getByRole("tab", { name: "History" }).click();
      await page.locator(".history").getByText("Bo Friis").first().waitFor();
      await picture(journey, "history");
      await open("/campaigns/new");
      await page.getByRole("heading", { name: "New campaign" }).waitFor();
      await page.getByRole("listbox").getByRole("option").first().waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("listbox").waitFor({ state: "detached" });
      await picture(journey, "new");
      await open("/report/freeResources?from=2027-03-15T09:00Z&to=2027-03-15T12:00Z&kind=ROOM");
      await page.locator(":is([role=gridcell], [role=rowheader]) .text").first().waitFor();
      await picture(journey, "report");
      await open("/campaigns");
      await page.getByText("No campaigns yet").waitFor();
      await picture(journey, "list-empty");
    });
  });

  test("the choice between two edits is accessible", async () => {
    await withJourney({ browser, service }, { ...options, token: anna }, async (journey) => {
      const { page, open } = journey;
      await open(`/products/${product}`);
      await page.getByRole("textbox", { name: "Region" }).fill(mine);
      await update(bo, { region: theirs });
      await page.keyboard.press("ControlOrMeta+s");
      await page.getByRole("alertdialog").waitFor();
      await picture(journey, "conflict");
      await page.getByRole("button", { name: "Save mine" }).click();
      await page.getByText("Saved", { exact: true }).waitFor();
    });
  });

  test("a failed page is accessible", async () => {
    await withJourney({ browser, service }, { ...options, token: anna }, async (journey) => {
      const { page, open, breakLists } = journey;
      await breakLists();
      await open("/products");
      await page.getByRole("button", { name: "Copy the details" }).waitFor();
      await picture(journey, "error");
    });
  });
});
