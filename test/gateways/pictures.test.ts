import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { PictureError, makePictures } from "../../src/gateways/pictures.ts";
import { localCertificate } from "../helpers/certificate.ts";

const never = new AbortController().signal;
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const limits = { bytes: 10_000, timeoutMs: 400 };

let host: string;
let asked: (string | undefined)[] = [];
let certificate: Awaited<ReturnType<typeof localCertificate>>;
let server: ReturnType<typeof createServer>;

const answers: Record<string, RequestListener> = {
  "/wine.png": (_request, response) => response.end(png),
  "/moved.png": (_request, response) => response.writeHead(302, { location: "/wine.png" }).end(),
  "/inside.png": (_request, response) =>
    response.writeHead(302, { location: "https://169.254.169.254/latest/meta-data" }).end(),
  "/plain.png": (_request, response) =>
    response.writeHead(302, { location: "http://localhost/wine.png" }).end(),
  "/round.png": (_request, response) => response.writeHead(302, { location: "/round.png" }).end(),
  "/page.png": (_request, response) => response.end("<!doctype html>"),
  "/gone.png": (_request, response) => response.writeHead(404).end(),
  "/large.png": (_request, response) => response.end(Buffer.concat([png, Buffer.alloc(10_000)])),
  // The response never ends.
  "/slow.png": (_request, response) => response.write(png.subarray(0, 20)),
};

beforeAll(async () => {
  certificate = await localCertificate();
  server = createServer(certificate, (request, response) => {
    asked.push(request.url);
    answers[request.url ?? ""]?.(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  host = `localhost:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Configured like the worker's, with the test certificate trusted. */
const pictures = (hosts: string[]) => makePictures({ hosts, ...limits }, { ca: certificate.cert });
const reasonFor = (hosts: string[], address: string) =>
  pictures(hosts)
    .fetch(address, never)
    .then(
      () => "there it is",
      (error: unknown) => {
        expect(error).toBeInstanceOf(PictureError);
        return (error as Error).message;
      },
    );

describe("a picture", () => {
  test("is downloaded from a listed host, also through redirects on it", async () => {
    for (const path of ["/wine.png", "/moved.png"])
      expect(await pictures([host]).fetch(`https://${host}${path}`, never)).toEqual({
        bytes: png,
        type: "image/png",
      });
    expect((await pictures(["localhost"]).fetch(`https://${host}/wine.png`, never)).bytes).toEqual(
      png,
    );
  });

  test.each([
    ["/page.png", "it is neither PNG nor JPEG"],
    ["/gone.png", "its host answers 404"],
    ["/large.png", "it is larger than 10000 bytes"],
    ["/slow.png", "it took too long to download"],
    ["/round.png", "its URL redirects too often"],
    ["/plain.png", "its URL is not a plain https URL"],
    ["/inside.png", "pictures from its host are not allowed"],
  ])("at %s is rejected: %s", async (path, reason) => {
    expect(await reasonFor([host], `https://${host}${path}`)).toBe(reason);
  });

  test("is downloaded only from listed hosts and only over https", async () => {
    asked = [];
    for (const address of [
      `https://127.0.0.1:${host.split(":")[1]}/wine.png`,
      "https://example.com/wine.png",
    ])
      expect(await reasonFor([host], address)).toBe("pictures from its host are not allowed");
    for (const address of [
      `http://${host}/wine.png`,
      `https://me:secret@${host}/wine.png`,
      "file:///etc/passwd",
      "data:image/png;base64,AAAA",
      "wine.png",
    ])
      expect(await reasonFor([host], address)).toBe("its URL is not a plain https URL");
    expect(asked).toEqual([]);
  });

  test("is not downloaded from private addresses, in any notation", async () => {
    asked = [];
    const port = host.split(":")[1];
    for (const inside of [
      `localhost:${port}`,
      `127.0.0.1:${port}`,
      `127.1:${port}`,
      `2130706433:${port}`,
      `0x7f000001:${port}`,
      `0177.0.0.1:${port}`,
      `0.0.0.0:${port}`,
      `[::1]:${port}`,
      `[::]:${port}`,
      `[::ffff:127.0.0.1]:${port}`,
      `[::ffff:7f00:1]:${port}`,
      "10.0.0.1",
      "172.16.0.1",
      "192.168.1.1",
      "169.254.169.254",
      "100.64.0.1",
      "[fd00::1]",
      "[fe80::1]",
      "[64:ff9b::7f00:1]",
      "[2002:7f00:1::]",
    ])
      expect([inside, await reasonFor([], `https://${inside}/wine.png`)]).toEqual([
        inside,
        "its host cannot be reached",
      ]);
    expect(asked).toEqual([]);
  });

  test("is cancelled with the work", async () => {
    const controller = new AbortController();
    const fetching = pictures([host]).fetch(`https://${host}/slow.png`, controller.signal);
    controller.abort(new Error("stopped"));
    await expect(fetching).rejects.toThrow("stopped");
  });
});
