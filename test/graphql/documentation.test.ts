import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import { type Answer, type Service, startService } from "../helpers/service.ts";

let service: Service;
let writer: { token: string; userId: string };
let reader: { token: string; userId: string };

beforeAll(async () => {
  service = await startService();
  writer = await service.login(["documentation.update", "users.read"], "writer@example.com");
  reader = await service.login([], "reader@example.com");
});
afterAll(() => service.stop());

const ask = (query: string, variables: Record<string, unknown>, token = writer.token) =>
  service.ask(query, { token, variables });
const refusal = ({ errors }: Answer) => ({
  code: errors?.[0]?.extensions.code,
  message: errors?.[0]?.message,
  path: errors?.[0]?.extensions["path"],
});

interface Page {
  id: string;
  slug: string;
  title: string;
  body: string;
  version: number;
}
const fields =
  "id slug title body version tags isPublished isBuiltIn author { id } updatedBy { id }";
const create = (input: Record<string, unknown> = {}, token = writer.token) =>
  ask(
    `mutation ($input: CreateDocumentationPageInput!) { createDocumentationPage(input: $input) { ${fields} } }`,
    { input: { title: `Page ${randomUUID()}`, isPublished: true, ...input } },
    token,
  );
async function made(input: Record<string, unknown> = {}): Promise<Page> {
  const { data, errors } = await create(input);
  expect(errors).toBeUndefined();
  return data.createDocumentationPage as Page;
}
const update = (id: string, input: Record<string, unknown>, token = writer.token) =>
  ask(
    `mutation ($id: ID!, $input: UpdateDocumentationPageInput!) { updateDocumentationPage(id: $id, input: $input) { ${fields} } }`,
    { id, input },
    token,
  );
const remove = (id: string) =>
  ask(`mutation ($id: ID!) { deleteDocumentationPage(id: $id) }`, { id });
const bySlug = async (slug: string, token = reader.token) => {
  const { data, errors } = await ask(
    `query ($slug: String!) { documentationPageBySlug(slug: $slug) { id slug title } }`,
    { slug },
    token,
  );
  expect(errors).toBeUndefined();
  return data.documentationPageBySlug as Page | null;
};
const find = async (text: string, token = reader.token) => {
  const { data, errors } = await ask(
    `query ($text: String!) { searchDocumentation(text: $text) { documentationPageId slug title excerpt } }`,
    { text },
    token,
  );
  expect(errors).toBeUndefined();
  return data.searchDocumentation as {
    documentationPageId: string;
    title: string;
    excerpt: string;
  }[];
};

const tagsRule = "tags must be different words of visible characters without spaces at their ends";

describe("a page", () => {
  test("needs documentation.update to create and is audited", async () => {
    const page = await made({ title: "Leave rules", body: "Ask *early*.", tags: ["staff"] });
    expect(page).toMatchObject({
      slug: "leave-rules",
      version: 1,
      author: { id: writer.userId },
      updatedBy: { id: writer.userId },
    });
    const { data } = await ask(
      `query ($id: ID!) { documentationPage(id: $id) { title body } }`,
      { id: page.id },
      reader.token,
    );
    expect(data.documentationPage).toEqual({ title: "Leave rules", body: "Ask *early*." });
    expect(refusal(await create({}, reader.token))).toMatchObject({
      code: "FORBIDDEN",
      message: "Missing required permission: documentation.update",
    });
    const { rows } = await service.database.pool.query(
      "select operation, after -> 'title' as title, after ? 'searchVector' as vector from audit_log where entity_type = 'DocumentationPage' and entity_id = $1",
      [page.id],
    );
    expect(rows).toEqual([{ operation: "CREATE", title: "Leave rules", vector: false }]);
  });

  test("names its author and the author of its latest version to every reader", async () => {
    const { id } = await made();
    await update(id, { body: "New." });
    const names = async (pageId: string) => {
      const { data, errors } = await ask(
        "query ($id: ID!) { documentationPage(id: $id) { authorName updatedByName author { id } } }",
        { id: pageId },
        reader.token,
      );
      expect(errors).toBeUndefined();
      return data.documentationPage as unknown;
    };
    expect(await names(id)).toEqual({
      authorName: "writer",
      updatedByName: "writer",
      author: null,
    });
    const ofProduct = await bySlug("query-language");
    expect(await names(ofProduct!.id)).toEqual({
      authorName: null,
      updatedByName: null,
      author: null,
    });
  });

  test("is hidden from readers while it is a draft", async () => {
    const title = `Draft ${randomUUID()}`;
    const { id, slug } = await made({ title, isPublished: false });
    expect(await bySlug(slug)).toBeNull();
    expect(await find(title)).toEqual([]);
    expect(await bySlug(slug, writer.token)).toMatchObject({ id });
    await update(id, { isPublished: true });
    expect(await bySlug(slug)).toMatchObject({ id });
  });

  test("rejects scoped tokens", async () => {
    const { token } = await insertApiToken(service.database, writer.userId, [
      "documentation.update",
    ]);
    for (const answer of [
      await create({}, token),
      await ask("{ documentationPages { nodes { id } } }", {}, token),
      await ask(`{ searchDocumentation(text: "wine") { slug } }`, {}, token),
    ])
      expect(refusal(answer).code).toBe("FORBIDDEN");
  });

  test("with pages below it rejects the deletion, and names them", async () => {
    const top = await made();
    await made({ parentId: top.id });
    expect(refusal(await remove(top.id))).toMatchObject({
      code: "CONFLICT",
      message: "Other rows still refer to this one: pages",
    });
  });

  test("of the product rejects changes and deletion", async () => {
    const page = await bySlug("query-language");
    expect(page?.title).toBe("The query language");
    expect(refusal(await update(page!.id, { title: "Mine" }))).toEqual({
      code: "CONFLICT",
      message: "This page belongs to the product and cannot be changed",
      path: ["id"],
    });
    expect(refusal(await remove(page!.id))).toMatchObject({
      code: "CONFLICT",
      message: "This page belongs to the product and cannot be deleted",
    });
  });

  test.each<[string, Record<string, unknown>, string]>([
    [
      "title",
      { title: " " },
      "title must be 1 to 200 visible characters without spaces at its ends",
    ],
    [
      "slug",
      { slug: "Leave rules" },
      "slug must be 1 to 100 lowercase letters and digits, with single hyphens between them",
    ],
    ["body", { body: "å".repeat(100_001) }, "body must be 200 kB at most"],
    [
      "tags",
      { tags: Array.from({ length: 21 }, String) },
      "tags must be 20 words at most, of 1000 characters together",
    ],
    ["tags", { tags: ["staff", ""] }, tagsRule],
    ["tags", { tags: ["staff", "Staff"] }, tagsRule],
  ])("rejects an invalid %s", async (field, input, message) => {
    expect(refusal(await create(input))).toEqual({
      code: "BAD_USER_INPUT",
      message,
      path: ["input", field],
    });
  });
});

describe("the address of a page", () => {
  test("redirects from an earlier address until another page uses it", async () => {
    const first = `first-${randomUUID()}`;
    const page = await made({ slug: first });
    expect(refusal(await create({ slug: first }))).toMatchObject({
      code: "CONFLICT",
      message: "A page with this address exists already.",
    });
    await update(page.id, { slug: `second-${page.id}` });
    expect(await bySlug(first)).toMatchObject({ id: page.id, slug: `second-${page.id}` });
    const other = await made({ slug: first });
    expect(await bySlug(first)).toMatchObject({ id: other.id });
    await update(page.id, { slug: `third-${page.id}` });
    expect(await bySlug(`second-${page.id}`)).toMatchObject({ slug: `third-${page.id}` });
    expect(await bySlug("no-such-page")).toBeNull();
  });

  test("defaults to a form of the title without accents", async () => {
    const { slug } = await made({ title: "Sådan bestiller du: Crémant & Ørsted!" });
    expect(slug).toMatch(/^s[a-z]+dan-bestiller-du-cremant-[a-z]*rsted$/);
    const long = await made({ title: `${"long title ".repeat(13)}${randomUUID().slice(0, 8)}` });
    expect(long.slug).toMatch(/^long-title(-long-title)*(-[a-z0-9]+)?$/);
    expect(long.slug.length).toBeLessThanOrEqual(100);
  });
});

describe("links", () => {
  test("to an unknown page are rejected", async () => {
    const target = await made({ slug: `target-${randomUUID()}` });
    const { slug } = target;
    await update(target.id, { slug: `moved-${target.id}` });
    await made({ body: `[a](${slug}), [b](moved-${target.id}#part), [c](query-language#text)` });
    expect(refusal(await create({ body: "See\n\n[the rules](no-such-page#part)." }))).toEqual({
      code: "BAD_USER_INPUT",
      message: "body links to no-such-page, but no page has this address",
      path: ["input", "body"],
    });
    const { id } = await made();
    expect(refusal(await update(id, { body: "[x](nowhere)" })).code).toBe("BAD_USER_INPUT");
  });

  test.each([
    '[x](nowhere "title")',
    "[x](nowhere 'title')",
    "[x](nowhere\n(title))",
    "[x](<nowhere>)",
    "[x](<nowhere#a part>)",
    "[x]( nowhere )",
    "[x](./nowhere)",
    "[x][r]\n\n[r]: nowhere",
    '[r]\n\n  [r]: <./nowhere#part> "title"',
    "> [r]: nowhere",
  ])("are checked in the form %j", async (body) => {
    const { slug } = await made({ slug: `form-${randomUUID()}` });
    expect(refusal(await create({ body })).message).toBe(
      "body links to nowhere, but no page has this address",
    );
    await made({ body: body.replace("nowhere", slug) });
  });

  test("are not found in text that only resembles them", async () => {
    await made({
      body: "[1](see also), `[r]: nowhere`\n\n[note]: nowhere to go\n\n[^1]: nowhere\n\n```\n[r]: nowhere\n```",
    });
  });

  test("with a scheme or path, and in code, are not checked", async () => {
    await made({
      body: "[web](https://example.com/a-b), [list](/admin/orders), [part](#here), `[code](nowhere)`\n\n```md\n[block](nowhere)\n```",
    });
  });

  test("to the page itself and beside code with a backtick are checked", async () => {
    const slug = `own-${randomUUID()}`;
    const page = await made({ slug, body: `[top](${slug})` });
    await made({ body: "~~~md\n` [block](nowhere)\n~~~\n\n```md\n` [block](nowhere)\n```" });
    expect(
      refusal(await update(page.id, { body: "```md\n`\n```\n\n[x](nowhere) `y`" })).message,
    ).toBe("body links to nowhere, but no page has this address");
    expect(
      refusal(await update(page.id, { body: "```\na\n```\n[x](nowhere)\n```\nb\n```" })).message,
    ).toBe("body links to nowhere, but no page has this address");
  });

  test("are checked in linear time", async () => {
    for (const text of [
      ...["[a](", "```a ", "~~~a ", "~~~a ```b ", "`a", "[a](b) "],
      ...["](a#", "](<a#", '](a "', "]( ", "\n[r]: a", "\n[r]: <a#", "[r][", "\n> > >", "\n[r]:\n"],
    ]) {
      const msOf = async (length: number) => {
        const started = performance.now();
        await create({ body: text.repeat(Math.floor(length / text.length)) });
        return performance.now() - started;
      };
      const eighth = await msOf(25_000);
      // Four times the linear growth, because other processes may slow down the second one; quadratic growth is 64.
      expect(await msOf(199_000)).toBeLessThan(32 * Math.max(eighth, 100));
    }
  });
});

describe("the tree", () => {
  test("orders children and rejects cycles and more than ten levels", async () => {
    const top = await made();
    const [second, first] = [
      await made({ parentId: top.id, position: 2 }),
      await made({ parentId: top.id, position: 1 }),
    ];
    const { data } = await ask(
      `query ($id: ID!) { documentationPage(id: $id) { children { nodes { id parent { id } } } } }`,
      { id: top.id },
      reader.token,
    );
    expect(data.documentationPage.children.nodes).toEqual([
      { id: first.id, parent: { id: top.id } },
      { id: second.id, parent: { id: top.id } },
    ]);
    for (const parentId of [top.id, first.id])
      expect(refusal(await update(top.id, { parentId }))).toMatchObject({
        code: "BAD_USER_INPUT",
        message: "parentId cannot be the page itself or one below it",
      });
    let above = first.id;
    for (let level = 3; level <= 10; level++) above = (await made({ parentId: above })).id;
    expect(refusal(await create({ parentId: above })).message).toBe(
      "parentId is too deep: the tree has 10 levels at most",
    );
    expect(refusal(await remove(top.id)).code).toBe("CONFLICT");
    const high = await made();
    await made({ parentId: (await made({ parentId: high.id })).id });
    let below = top.id;
    for (let level = 2; level <= 8; level++) below = (await made({ parentId: below })).id;
    expect(refusal(await update(high.id, { parentId: below })).message).toBe(
      "parentId is too deep: the tree has 10 levels at most",
    );
  });

  test("has contents with numbers, and readable pages below unreadable ones at the top", async () => {
    const draft = await made({ isPublished: false });
    const top = await made({ position: 1 });
    const second = await made({ parentId: top.id, position: 2 });
    const first = await made({ parentId: top.id, position: 1 });
    const leaf = await made({ parentId: first.id });
    const orphan = await made({ parentId: draft.id });
    const contents = async (token: string) => {
      const { data } = await ask(
        "{ documentationContents { number documentationPageId slug title isPublished } }",
        {},
        token,
      );
      return data.documentationContents as { number: string; documentationPageId: string }[];
    };
    const numbers = async (token: string, pages: { id: string }[]) => {
      const entries = await contents(token);
      return pages.map(
        ({ id }) => entries.find(({ documentationPageId }) => documentationPageId === id)?.number,
      );
    };
    const all = await contents(writer.token);
    const start = all.findIndex(({ documentationPageId }) => documentationPageId === top.id);
    expect(all.slice(start, start + 4).map((entry) => entry.documentationPageId)).toEqual(
      [top, first, leaf, second].map(({ id }) => id),
    );
    const [top_, first_, leaf_, second_] = await numbers(writer.token, [top, first, leaf, second]);
    expect([first_, leaf_, second_]).toEqual([`${top_}.1`, `${top_}.1.1`, `${top_}.2`]);
    const [draft_, orphan_] = await numbers(writer.token, [draft, orphan]);
    expect(orphan_).toBe(`${draft_}.1`);
    expect(await numbers(reader.token, [draft, orphan])).toEqual([
      undefined,
      expect.stringMatching(/^\d+$/),
    ]);
  });
});

describe("versions", () => {
  test("store the author and are restored as a new version", async () => {
    const other = await service.login(["documentation.update"], "other@example.com");
    const page = await made({ title: "Opening hours", body: "Ten to five." });
    await update(page.id, { body: "Nine to five." }, other.token);
    await update(page.id, { position: 4 });
    const versions = async (token = writer.token) =>
      ask(
        `query ($id: ID!) { documentationPage(id: $id) { version versions { nodes { id number title body authorName author { id } } } } }`,
        { id: page.id },
        token,
      );
    const { data } = await versions();
    expect(data.documentationPage).toEqual({
      version: 2,
      versions: {
        nodes: [
          {
            ...{ id: expect.any(String), number: 2, title: "Opening hours", body: "Nine to five." },
            authorName: "other",
            author: { id: other.userId },
          },
          {
            ...{ id: expect.any(String), number: 1, title: "Opening hours", body: "Ten to five." },
            authorName: "writer",
            author: { id: writer.userId },
          },
        ],
      },
    });
    const restore = (id: string, token = writer.token) =>
      ask(
        `mutation ($id: ID!) { restoreDocumentationVersion(id: $id) { number body page { version body updatedBy { id } } } }`,
        { id },
        token,
      );
    const first = data.documentationPage.versions.nodes[1].id as string;
    expect(refusal(await restore(first, reader.token)).code).toBe("FORBIDDEN");
    expect((await restore(first)).data.restoreDocumentationVersion).toEqual({
      number: 3,
      body: "Ten to five.",
      page: { version: 3, body: "Ten to five.", updatedBy: { id: writer.userId } },
    });
    expect(refusal(await restore(randomUUID())).code).toBe("NOT_FOUND");
    const one = (id: string, token = writer.token) =>
      ask("query ($id: ID!) { documentationVersion(id: $id) { number body } }", { id }, token);
    expect((await one(first)).data.documentationVersion).toEqual({
      number: 1,
      body: "Ten to five.",
    });
    expect((await one(randomUUID())).data.documentationVersion).toBeNull();
    expect(refusal(await one(first, reader.token)).code).toBe("FORBIDDEN");
    const seen = await versions(reader.token);
    expect(seen.data.documentationPage.versions.nodes).toEqual([]);
  });
});

describe("a version", () => {
  const read = async (id: string) => {
    const { data, errors } = await ask(
      `query ($id: ID!) { documentationPage(id: $id) { slug position tags isPublished version parent { id }
         versions { nodes { id number tags author { id } } } } }`,
      { id },
      writer.token,
    );
    expect(errors).toBeUndefined();
    return data.documentationPage as Record<string, unknown> & {
      versions: { nodes: { id: string; number: number; tags: string[]; author: object }[] };
    };
  };

  test("holds the tags, and restores them", async () => {
    const other = await service.login(["documentation.update"], "tagger@example.com");
    const { id } = await made({ tags: ["leave", "staff"] });
    await update(id, { tags: ["holiday"] }, other.token);
    const { versions } = await read(id);
    expect(versions.nodes).toMatchObject([
      { number: 2, tags: ["holiday"], author: { id: other.userId } },
      { number: 1, tags: ["leave", "staff"], author: { id: writer.userId } },
    ]);
    const { data } = await ask(
      "mutation ($id: ID!) { restoreDocumentationVersion(id: $id) { number tags page { tags } } }",
      { id: versions.nodes[1]?.id },
      writer.token,
    );
    const tags = ["leave", "staff"];
    expect(data.restoreDocumentationVersion).toEqual({ number: 3, tags, page: { tags } });
  });

  test("is not created by a change of the page's place, address or publication", async () => {
    const { id } = await made({ body: "Old." });
    const parent = await made();
    const place = { slug: `moved-${id}`, position: 7, isPublished: false };
    await update(id, { ...place, parentId: parent.id });
    expect((await read(id)).versions.nodes).toHaveLength(1);
    await update(id, { body: "New." });
    const { versions } = await read(id);
    const { errors } = await ask(
      "mutation ($id: ID!) { restoreDocumentationVersion(id: $id) { id } }",
      { id: versions.nodes[1]?.id },
      writer.token,
    );
    expect(errors).toBeUndefined();
    expect(await read(id)).toMatchObject({ ...place, parent: { id: parent.id }, version: 3 });
  });
});

describe("documentationDifferences", () => {
  interface Difference {
    field: string;
    change: "REMOVED" | "ADDED";
    line: number;
    text: string;
  }
  const ask = (variables: Record<string, unknown>, token = writer.token) =>
    service.ask(
      `query ($id: ID!, $from: Int!, $to: Int) {
         documentationDifferences(documentationPageId: $id, fromVersion: $from, toVersion: $to) { field change line text } }`,
      { token, variables },
    );
  const differences = async (id: string, from: number, to?: number) => {
    const { data, errors } = await ask({ id, from, to });
    expect(errors).toBeUndefined();
    return data.documentationDifferences as Difference[];
  };
  /** The differences, in one line each. */
  const shown = async (id: string, from: number, to?: number) =>
    (await differences(id, from, to)).map(
      ({ field, change, line, text }) =>
        `${field} ${change === "ADDED" ? "+" : "-"}${line} ${text}`,
    );

  test("compares any two versions, in both directions", async () => {
    const title = `Corks ${randomUUID()}`;
    const { id } = await made({ title, tags: ["cork"], body: "One\nTwo\nThree\nFour" });
    await update(id, { body: "One\nThree\nFour" });
    await update(id, { title: `${title}!`, tags: ["cork", "cap"], body: "One\nThree\nFour\nFive" });
    const whole = [`title -1 ${title}`, `title +1 ${title}!`, "tags +2 cap"];
    expect(await shown(id, 1, 2)).toEqual(["body -2 Two"]);
    expect(await shown(id, 1, 3)).toEqual([...whole, "body -2 Two", "body +4 Five"]);
    expect(await shown(id, 1)).toEqual(await shown(id, 1, 3));
    expect(await shown(id, 2, 1)).toEqual(["body +2 Two"]);
    expect(await shown(id, 2, 2)).toEqual([]);
  });

  test("turns the earlier text into the later one, with the fewest lines", async () => {
    let seed = 7;
    const random = (below: number) => (seed = (seed * 16_807) % 2_147_483_647) % below;
    const randomLines = () => Array.from({ length: random(9) }, () => "abc"[random(3)] ?? "");
    const { id } = await made({ body: "start" });
    let version = 1;
    let old = ["start"];
    for (let round = 0; round < 60; round++) {
      const fresh = randomLines();
      if (fresh.join() === old.join()) continue;
      expect((await update(id, { body: fresh.join("\n") })).errors).toBeUndefined();
      const found = await differences(id, version, ++version);
      const changed = (change: string) => found.filter((one) => one.change === change);
      const result = [...old];
      for (const { line, text } of changed("REMOVED").toReversed())
        expect(result.splice(line - 1, 1)).toEqual([text]);
      for (const { line, text } of changed("ADDED")) result.splice(line - 1, 0, text);
      expect(result).toEqual(fresh);
      expect(found).toHaveLength(old.length + fresh.length - 2 * commonLines(old, fresh));
      old = fresh;
    }
  });

  /** The number of lines of the longest common subsequence. */
  function commonLines(left: readonly string[], right: readonly string[]): number {
    if (left.length === 0 || right.length === 0) return 0;
    const [restOfLeft, restOfRight] = [left.slice(1), right.slice(1)];
    return left[0] === right[0]
      ? 1 + commonLines(restOfLeft, restOfRight)
      : Math.max(commonLines(restOfLeft, right), commonLines(left, restOfRight));
  }

  test("lists all lines when more than 1000 differ, in bounded time", async () => {
    const lines = (text: string, count: number) =>
      Array.from({ length: count }, (_, n) => `${text}${n}`).join("\n");
    const { id } = await made({ body: `same\n${lines("a", 15_000)}` });
    await update(id, { body: `same\n${lines("b", 15_000)}` });
    const started = performance.now();
    const found = await shown(id, 1, 2);
    // Comparing each line with each other one takes minutes.
    expect(performance.now() - started).toBeLessThan(20_000);
    expect([found.length, found[0], found[15_001]]).toEqual([
      30_002,
      "body -1 same",
      "body +1 same",
    ]);
    await update(id, { body: `same\n${lines("b", 14_000)}` });
    expect(await shown(id, 2, 3)).toHaveLength(1_000);
  });

  test("rejects an unknown page or version, and callers without documentation.update", async () => {
    const { id } = await made();
    expect(refusal(await ask({ id, from: 2 }))).toEqual({
      code: "NOT_FOUND",
      message: "The page has no version of this number",
      path: ["fromVersion"],
    });
    expect(refusal(await ask({ id, from: 1, to: 2 })).path).toEqual(["toVersion"]);
    expect(refusal(await ask({ id: randomUUID(), from: 1 })).code).toBe("NOT_FOUND");
    expect(refusal(await ask({ id, from: 1 }, reader.token)).message).toBe(
      "Missing required permission: documentation.update",
    );
  });

  test("is a report of the console with a choice of pages", async () => {
    const { data } = await service.ask(
      "{ console { reports { field group arguments { fields { name kind reference { entity } } } fields { name } } } }",
      { token: writer.token },
    );
    const reports = data.console.reports as { field: string }[];
    expect(reports.find(({ field }) => field === "documentationDifferences")).toMatchObject({
      group: "Office",
      arguments: [
        { fields: [{ name: "documentationPageId", reference: { entity: "documentationPages" } }] },
        { fields: [{ name: "fromVersion", kind: "INTEGER", reference: null }] },
        { fields: [{ name: "toVersion", kind: "INTEGER", reference: null }] },
      ],
      fields: [{ name: "field" }, { name: "change" }, { name: "line" }, { name: "text" }],
    });
  });
});

describe("the search", () => {
  test("matches word forms in Danish and English, best match first", async () => {
    const word = randomUUID().replaceAll("-", "").replace(/\d/g, "x");
    const title = await made({ title: `Tastings ${word}`, body: "Everybody brings a glass." });
    const body = await made({
      title: `Flasker ${randomUUID()}`,
      body: `Vi åbner ${word} flaskerne til smagningerne i kælderen.`,
    });
    expect((await find(word)).map(({ documentationPageId }) => documentationPageId)).toEqual([
      title.id,
      body.id,
    ]);
    const [found] = await find(`smagning flaske ${word}`);
    expect(found).toMatchObject({
      documentationPageId: body.id,
      excerpt: expect.stringContaining("smagningerne"),
    });
    expect(
      (await find(`tasting ${word}`)).map(({ documentationPageId }) => documentationPageId),
    ).toEqual([title.id]);
    expect(
      (await find(`${word} -tasting`)).map(({ documentationPageId }) => documentationPageId),
    ).toEqual([body.id]);
    const tagged = await made({ tags: [`${word}tag`, "smagninger"] });
    expect(
      (await find(`smagning ${word}tag`)).map(({ documentationPageId }) => documentationPageId),
    ).toEqual([tagged.id]);
    expect(await find("")).toEqual([]);
    expect(await find("!!! & | ( :*")).toEqual([]);
  });

  describe("shows the text around a match far down", () => {
    const filler = "The wine of the house is stored with care and nobody drinks it before noon. ";
    const word = `zz${randomUUID().replaceAll("-", "").replace(/\d/g, "x")}`;
    beforeAll(async () => {
      const match = `Vi åbner flaskerne til smagningerne i kælderen. Bottles were ${word} emptied at parties.`;
      await made({ body: `${filler.repeat(900)}\n\n${match}\n\n${filler.repeat(1300)}` });
    });
    test.each([
      ["a Danish form", `kælder ${word}`, "smagningerne i kælderen"],
      ["an English form", `party ${word}`, "emptied at parties"],
      ["a phrase after its first word", `"${word} emptied"`, `were ${word} emptied`],
      ["a word after frequent ones", `wine house noon ${word}`, word],
      ["a word without an excluded one", `${word} -nowhere`, word],
    ])("of %s", async (_what, text, shown) => {
      const [found] = await find(text);
      expect(found?.excerpt).toContain(shown);
      expect(found?.excerpt.length).toBeLessThan(600);
    });
  });

  test("shows the beginning of a page that matches by its title only", async () => {
    const word = `zz${randomUUID().replaceAll("-", "").replace(/\d/g, "x")}`;
    await made({ title: `Title ${word}`, body: "Glasses are in the cupboard." });
    expect((await find(word))[0]?.excerpt).toBe("Glasses are in the cupboard.");
  });

  test("by the query of the list matches title and body of the pages that the caller can read", async () => {
    const word = `zz${randomUUID().replaceAll("-", "")}`;
    const inBody = await made({ body: `Leave **${word}** early.`, isPublished: true });
    const inTitle = await made({ title: `About ${word}`, isPublished: true });
    const draft = await made({ body: `A draft of ${word}.`, isPublished: false });
    const found = async (token: string) => {
      const { data, errors } = await ask(
        "query ($query: String!) { documentationPages(query: $query) { nodes { id } } }",
        { query: word.toUpperCase() },
        token,
      );
      expect(errors).toBeUndefined();
      return data.documentationPages.nodes.map(({ id }: { id: string }) => id).toSorted();
    };
    expect(await found(reader.token)).toEqual([inBody.id, inTitle.id].toSorted());
    expect(await found(writer.token)).toEqual([inBody.id, inTitle.id, draft.id].toSorted());
  });

  test("takes bounded time for long pages", async () => {
    const word = `zz${randomUUID().replaceAll("-", "").replace(/\d/g, "x")}`;
    const beginnings = Array.from({ length: 12 }, (_, index) => word.slice(0, 30 - index));
    for (let n = 0; n < 10; n++)
      await made({ tags: [...beginnings, `${n}`], body: `${word} `.repeat(5_000) });
    const started = performance.now();
    expect(await find(beginnings.join(" "))).toHaveLength(10);
    expect(performance.now() - started).toBeLessThan(15_000);
  });

  test("limits the text and the number of results", async () => {
    expect(
      refusal(await ask(`{ searchDocumentation(text: "a", first: 51) { slug } }`, {})).message,
    ).toBe("first must be 1 to 50");
    expect(
      refusal(
        await ask(`query ($text: String!) { searchDocumentation(text: $text) { slug } }`, {
          text: "a ".repeat(501),
        }),
      ).message,
    ).toBe("text must be 1000 characters at most");
  });
});
