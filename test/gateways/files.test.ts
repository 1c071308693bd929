import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough, Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { FileStore } from "../../src/gateways/files.ts";
import { FileStoreError } from "../../src/gateways/files.ts";
import type { TestFiles } from "../helpers/fileServer.ts";
import { startTestFiles } from "../helpers/fileServer.ts";
import { timed } from "../helpers/http.ts";
import { httpAnswer, startProxy } from "../helpers/proxy.ts";
import { waitFor } from "../helpers/waitFor.ts";

const mebi = 1024 * 1024;
const never = new AbortController().signal;

let files: TestFiles;
let store: FileStore;

beforeAll(async () => {
  files = await startTestFiles();
  store = files.store();
});
afterAll(async () => {
  store.close();
  await files.stop();
});

/** Generates bytes in chunks of different sizes. */
function* pieces(size: number): Generator<Buffer> {
  for (let left = size; left > 0; left -= 300_007) yield randomBytes(Math.min(left, 300_007));
}
const digest = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

describe("a file", () => {
  test.each([
    ["nothing", 0],
    ["less than a part", 1_000],
    ["exactly two parts", 10 * mebi],
    ["three parts and a byte", 15 * mebi + 1],
  ])("of %s is stored byte for byte", async (_what, size) => {
    const content = Buffer.concat([...pieces(size)]);
    const key = `a/${size}.xlsx`;
    const chunks = Array.from({ length: Math.ceil(size / 70_001) }, (_, index) =>
      content.subarray(index * 70_001, (index + 1) * 70_001),
    );
    expect(await store.write(key, Readable.from(chunks), never)).toBe(size);
    expect(digest(await store.read(key))).toBe(digest(content));
    expect((await files.content()).unfinished).toEqual([]);
    await store.remove(key);
    await store.remove(key);
    await expect(store.read(key)).rejects.toThrow("The file store does not have the file");
  });

  test("is never stored in part: a broken upload leaves neither a file nor parts", async () => {
    const body = new PassThrough();
    const writing = store.write("b/broken.xlsx", body, never);
    for (const piece of pieces(11 * mebi)) if (!body.write(piece)) await setImmediate();
    body.destroy(new Error("the rows broke off"));
    await expect(writing).rejects.toThrow("the rows broke off");
    expect(await files.content()).toEqual({ files: [], unfinished: [] });
  });

  test("ends its aborted upload at once, and its deletion leaves nothing", async () => {
    const controller = new AbortController();
    const body = new PassThrough();
    body.on("error", () => undefined);
    const writing = store.write("b/stopped.xlsx", body, controller.signal);
    writing.catch(() => undefined);
    for (const piece of pieces(11 * mebi)) if (!body.write(piece)) await setImmediate();
    await waitFor("the upload to begin", async () => (await files.content()).unfinished.length > 0);
    controller.abort(new Error("cancelled"));
    await expect(writing).rejects.toThrow("cancelled");
    expect(body.destroyed).toBe(true);
    await store.remove("b/stopped.xlsx");
    await waitFor("nothing to be left", async () => {
      const { files: whole, unfinished } = await files.content();
      return whole.length + unfinished.length === 0;
    });
  });

  test("ends its aborted upload while the store is silent, and other uploads continue", async () => {
    const proxy = await startProxy(files.url);
    const silent = files.store(proxy.url);
    try {
      proxy.blackHole();
      const controller = new AbortController();
      const stopped = silent.write("b/silent.xlsx", Readable.from(["x"]), controller.signal);
      const other = silent.write("b/other.xlsx", Readable.from(["x"]), never);
      controller.abort(new Error("cancelled"));
      await expect(stopped).rejects.toThrow("cancelled");
      await proxy.restore();
      expect(await other).toBe(1);
    } finally {
      silent.close();
      await proxy.stop();
      await store.removeAll("b/");
    }
  });

  test("is deleted with its unfinished uploads, and with no others", async () => {
    const begin = async (key: string) => {
      const body = new PassThrough();
      body.on("error", () => undefined);
      const controller = new AbortController();
      const writing = store.write(key, body, controller.signal);
      writing.catch(() => undefined);
      for (const piece of pieces(6 * mebi)) if (!body.write(piece)) await setImmediate();
      return { writing, body };
    };
    const one = await begin("c/1.xlsx");
    const ten = await begin("c/1.xlsx0");
    await waitFor(
      "both uploads to begin",
      async () => (await files.content()).unfinished.length === 2,
    );
    await store.remove("c/1.xlsx");
    expect((await files.content()).unfinished).toEqual(["c/1.xlsx0"]);
    await store.removeAll("c/");
    expect(await files.content()).toEqual({ files: [], unfinished: [] });
    for (const { writing, body } of [one, ten]) {
      body.end();
      await expect(writing).rejects.toThrow(FileStoreError);
    }
  });
});

describe("a download link", () => {
  const key = "d/list.xlsx";
  const fileName = 'Prisliste "Rosé" – vår 2026 (50%).xlsx';
  beforeAll(async () => {
    await store.write(key, Readable.from([Buffer.from("0123456789")]), never);
  });

  test("serves the file to anyone, under its name, in whole or in part", async () => {
    const link = await store.link(key, { fileName, seconds: 300 });
    const response = await fetch(link);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("0123456789");
    const disposition = response.headers.get("content-disposition") ?? "";
    expect(disposition).toMatch(/^attachment; filename="Prisliste/);
    const extended = /filename\*=UTF-8''([^;]+)/.exec(disposition)?.[1] ?? "";
    expect(decodeURIComponent(extended)).toBe(fileName);
    expect(response.headers.get("content-type")).toContain("spreadsheetml");
    const part = await fetch(link, { headers: { range: "bytes=2-4" } });
    expect([part.status, await part.text(), part.headers.get("content-range")]).toEqual([
      206,
      "234",
      "bytes 2-4/10",
    ]);
  });

  test("expires and cannot be changed to another file", async () => {
    const link = await store.link(key, { fileName, seconds: 300 });
    const other = await store.link(key, { fileName, seconds: 1 });
    for (const changed of [
      link.replace("list.xlsx", "other.xlsx"),
      link.replace("X-Amz-Expires=300", "X-Amz-Expires=3000"),
      link.replace(/2026/, "2027"),
      link.replace(/X-Amz-Signature=\w+/, ""),
      link.split("?")[0] ?? "",
    ])
      expect([400, 403]).toContain((await fetch(changed)).status);
    expect((await fetch(link, { method: "DELETE" })).status).toBe(403);
    await waitFor("the link to end", async () => (await fetch(other)).status === 403);
    expect((await fetch(link)).status).toBe(200);
  });

  test("uses the public address", async () => {
    const elsewhere = files.store(undefined, { S3_PUBLIC_ENDPOINT: "https://files.example" });
    const link = await elsewhere.link(key, { fileName, seconds: 300 });
    expect(link).toMatch(/^https:\/\/files\.example\/back-office\/d\/list\.xlsx\?/);
    elsewhere.close();
  });
});

describe("the store emulator", () => {
  test("rejects requests without the key", async () => {
    for (const path of ["", "back-office", "back-office?uploads", "back-office/d/list.xlsx"])
      for (const method of ["GET", "PUT", "DELETE"])
        expect((await fetch(`${files.url}/${path}`, { method })).status).toBe(403);
    const stranger = files.store(undefined, { S3_SECRET_ACCESS_KEY: "another" });
    await expect(stranger.read("d/list.xlsx")).rejects.toThrow(
      "The file store rejected the request",
    );
    stranger.close();
    const known = files.store(undefined, {
      S3_ACCESS_KEY_ID: "S3RVER",
      S3_SECRET_ACCESS_KEY: "S3RVER",
    });
    await expect(known.read("d/list.xlsx")).rejects.toThrow("The file store rejected the request");
    known.close();
  });
});

describe("an upload with a part removed during its completion", () => {
  test("fails alone, and the emulator continues", async () => {
    const client = files.client();
    const upload = { Bucket: "back-office", Key: "torn" };
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(upload));
    const parts = await Promise.all(
      [1, 2, 3].map(async (PartNumber) => {
        const { ETag } = await client.send(
          new UploadPartCommand({ ...upload, UploadId, PartNumber, Body: Buffer.alloc(5 * mebi) }),
        );
        return { PartNumber, ETag };
      }),
    );
    await files.tear(UploadId ?? "", 2);
    await expect(
      client.send(
        new CompleteMultipartUploadCommand({
          ...upload,
          UploadId,
          MultipartUpload: { Parts: parts },
        }),
      ),
    ).rejects.toThrow();
    expect((await files.content()).files).not.toContain("torn");
    await store.remove("torn");
    expect((await files.content()).unfinished).toEqual([]);
  });
});

describe("a failing store", () => {
  test("fails only the write, even when the body has no listener", async () => {
    const body = new PassThrough();
    body.end("all of it");
    const away = files.store("http://127.0.0.1:1");
    await expect(away.write("away", body, never)).rejects.toThrow(FileStoreError);
    // An unhandled error of the body would end the process here.
    await setImmediate();
    expect(body.destroyed).toBe(true);
    await expect(store.write("there", Readable.from(["x"]), never)).resolves.toBe(1);
  });

  test("counts as failed when a proxy's page answers", async () => {
    const proxy = await startProxy(files.url);
    const hidden = files.store(proxy.url);
    proxy.answer(httpAnswer(200, "<html>Log in</html>", { "content-type": "text/html" }));
    await expect(hidden.write("hidden", Readable.from(["x"]), never)).rejects.toThrow(
      "The file store cannot be reached",
    );
    await proxy.restore();
    await expect(hidden.write("hidden", Readable.from(["x"]), never)).resolves.toBe(1);

    await files
      .client()
      .send(new CreateMultipartUploadCommand({ Bucket: "back-office", Key: "hidden" }));
    const pages = [
      httpAnswer(200, "<html>Log in</html>", { "content-type": "text/html", etag: '"p"' }),
      httpAnswer(200, "", { "content-type": "text/html", etag: '"p"' }),
    ];
    const works: [string, () => Promise<unknown>][] = [
      ["removed", () => hidden.remove("hidden")],
      ["removed with its prefix", () => hidden.removeAll("hid")],
      ["read", () => hidden.read("hidden")],
      ["listed", () => hidden.list("hid")[Symbol.asyncIterator]().next()],
    ];
    for (const page of pages)
      for (const [what, work] of works) {
        proxy.answer(page);
        const outcome = await work().then(
          () => "believed",
          (error: unknown) => String(error),
        );
        expect({ what, outcome }).toEqual({
          ...{ what, outcome: "FileStoreError: The file store cannot be reached" },
        });
        await proxy.restore();
        // More such responses in a row would open the circuit.
        expect((await hidden.read("hidden")).toString()).toBe("x");
      }
    expect(await files.content()).toMatchObject({ unfinished: ["hidden"] });
    expect((await hidden.read("hidden")).toString()).toBe("x");
    await hidden.remove("hidden");
    const { files: left, unfinished } = await files.content();
    expect([left.includes("hidden"), unfinished]).toEqual([false, []]);
    hidden.close();
    await proxy.stop();
  });

  const quick = { timeoutMs: 300 };

  test("is reported without internal details, in time", async () => {
    const proxy = await startProxy(files.url);
    const away = files.store(proxy.url, {}, quick);
    await proxy.cut();
    const { ms, result } = await timed(() => away.read("d/list.xlsx").catch((e: unknown) => e));
    expect(result).toBeInstanceOf(FileStoreError);
    expect((result as Error).message).toBe("The file store cannot be reached");
    expect(ms).toBeLessThan(20_000);
    await proxy.restore();
    expect((await away.read("d/list.xlsx")).toString()).toBe("0123456789");
    away.close();
    await proxy.stop();
  });

  test("opens the circuit after several failures, also when a page answers", async () => {
    const proxy = await startProxy(files.url);
    const away = files.store(proxy.url, {}, quick);
    const refusal = "The file store cannot be reached";
    const back = async () => {
      await waitFor("the circuit to close", () =>
        away.check(never).then(
          () => true,
          () => false,
        ),
      );
      expect(away.circuit()).toBe("closed");
    };
    // A rejection is a response.
    for (let n = 0; n < 6; n++)
      await expect(away.read("nothing")).rejects.toThrow("The file store does not have the file");
    expect(away.circuit()).toBe("closed");

    await proxy.cut("hang up");
    for (let n = 0; n < 2; n++) await expect(away.read("d/list.xlsx")).rejects.toThrow(refusal);
    expect(away.circuit()).toBe("open");
    const asked = proxy.hungUp();
    const unheard = Readable.from(["x"]);
    await expect(away.write("f.xlsx", unheard, never)).rejects.toThrow(refusal);
    expect([proxy.hungUp(), unheard.destroyed]).toEqual([asked, true]);
    await proxy.restore();
    await back();

    const page = { "content-type": "text/html", etag: '"p"' };
    for (const response of [
      httpAnswer(200, "<html>Log in</html>", page),
      httpAnswer(200, "", page),
    ]) {
      proxy.answer(response);
      for (let n = 0; n < 5; n++) await expect(away.check(never)).rejects.toThrow(refusal);
      expect(away.circuit()).toBe("open");
      await proxy.restore();
      await back();
    }
    away.close();
    await proxy.stop();
  });

  test.each([
    ["answers 503", (response: ServerResponse) => response.writeHead(503).end()],
    ["never answers", () => undefined],
    [
      "closes the connection during a response",
      (response: ServerResponse) => {
        response.writeHead(200, { "content-length": "100" });
        response.write("half");
        response.destroy();
      },
    ],
  ])("with %s is an error in time", async (_what, answer) => {
    const server = createServer((_request, response) => {
      answer(response);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const broken = files.store(`http://127.0.0.1:${port}`, {}, quick);
    const body = Readable.from(pieces(6 * mebi));
    body.on("error", () => undefined);
    await expect(broken.write("e.xlsx", body, never)).rejects.toThrow(FileStoreError);
    expect(body.destroyed).toBe(true);
    await expect(broken.read("e.xlsx")).rejects.toThrow(FileStoreError);
    broken.close();
    server.closeAllConnections();
    server.close();
  });
});
