import { type AddressInfo, type Socket, createConnection, createServer } from "node:net";
import { Transform } from "node:stream";

/** A TCP proxy that can interrupt, delay or replace the traffic to a server. */
export interface Proxy {
  /** The server's URL with the proxy's host and port. */
  url: string;
  /** Closes all connections. New ones are refused, or accepted and closed at once. */
  cut(manner?: "refuse" | "hang up"): Promise<void>;
  /** The number of connections that were accepted and closed at once. */
  hungUp(): number;
  /** Delays each chunk in both directions. */
  slow(ms: number): void;
  /** Closes each connection after this many further response bytes. */
  cutAfter(bytes: number): void;
  /** Accepts connections and data but forwards nothing; open connections stay open. */
  blackHole(): void;
  /** Replies to each request with this text and closes the connection. */
  answer(text: string): void;
  /** Forwards again, on the same port. Closes connections with withheld data. */
  restore(): Promise<void>;
  /**
   * Forwards a request with this text, but nothing more on its connection until `restore`. Resolves when it was
   * sent.
   */
  holdResponsesTo(text: string): Promise<void>;
  /**
   * Holds back the request chunk with this text and all later ones. `seen` resolves on arrival, `release`
   * forwards them.
   */
  holdRequest(text: string): { seen: Promise<unknown>; release: () => void };
  /** Forwards to another server from now on, like a failover. Closes existing connections. */
  redirectTo(target: string): void;
  /** The number of open connections. */
  open(): number;
  stop(): Promise<void>;
}

type Manner =
  | { kind: "pass" }
  | { kind: "hang up" }
  | { kind: "slow"; ms: number }
  | { kind: "cut after"; bytes: number }
  | { kind: "black hole" }
  | { kind: "answer"; text: string };

/** A proxied connection. */
interface Connection {
  inner: Socket;
  outer: Socket;
  /** Nothing is forwarded any more. */
  stuck: boolean;
  /** The proxy replied instead of the server. */
  answered: boolean;
  /** Response bytes since `cutAfter`. */
  counted: number;
}

/** An HTTP response for `Proxy.answer`. */
export function httpAnswer(
  status: number,
  body = "{}",
  headers: Readonly<Record<string, string>> = {},
): string {
  const all = {
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Fault\r\n${lines.join("")}\r\n${body}`;
}

/** Starts a proxy for the server at a URL. */
export async function startProxy(target: string): Promise<Proxy> {
  let { hostname, port } = new URL(target);
  const connections = new Set<Connection>();
  let listening: { close: () => Promise<void>; port: number } | null = null;
  let manner: Manner = { kind: "pass" };
  let hungUp = 0;
  let held: { text: string; seen: () => void } | null = null;
  let heldRequest: { text: string; seen: (pass: () => void) => void } | null = null;

  const end = ({ inner, outer }: Connection) => {
    inner.destroy();
    outer.destroy();
  };

  /** Forwards one direction. A chunk whose `done` is never called blocks all later ones. */
  const relay = (connection: Connection, see: (chunk: Buffer, pass: () => void) => void) =>
    new Transform({
      transform(chunk: Buffer, _encoding, done) {
        if (manner.kind === "black hole") connection.stuck = true;
        if (connection.stuck) return;
        const pass = () => done(null, chunk);
        if (manner.kind === "slow") setTimeout(() => see(chunk, pass), manner.ms);
        else see(chunk, pass);
      },
    });

  const onRequest = (connection: Connection) => (chunk: Buffer, pass: () => void) => {
    if (manner.kind === "answer" || connection.answered) {
      if (!connection.answered && manner.kind === "answer") connection.inner.end(manner.text);
      connection.answered = true;
      connection.outer.destroy();
      return;
    }
    if (heldRequest && chunk.includes(heldRequest.text)) {
      heldRequest.seen(pass);
      heldRequest = null;
      return;
    }
    pass();
    if (!held || !chunk.includes(held.text)) return;
    connection.stuck = true;
    held.seen();
  };

  const onAnswer = (connection: Connection) => (chunk: Buffer, pass: () => void) => {
    if (connection.answered) return;
    if (manner.kind !== "cut after") {
      pass();
      return;
    }
    const left = manner.bytes - connection.counted;
    connection.counted += chunk.length;
    if (connection.counted < manner.bytes) {
      pass();
      return;
    }
    connection.inner.end(chunk.subarray(0, Math.max(0, left)), () => end(connection));
  };

  const connect = (inner: Socket) => {
    if (manner.kind === "hang up") {
      hungUp++;
      inner.destroy();
      return;
    }
    const outer = createConnection(Number(port), hostname);
    const connection = { inner, outer, stuck: false, answered: false, counted: 0 };
    connections.add(connection);
    for (const [socket, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      // Closing the other side is the only reaction to a broken connection.
      socket.on("error", () => connection.answered || other.destroy());
      socket.on("close", () => {
        if (socket === outer && connection.answered) return;
        connections.delete(connection);
        other.destroy();
      });
    }
    inner.pipe(relay(connection, onRequest(connection))).pipe(outer);
    outer.pipe(relay(connection, onAnswer(connection))).pipe(inner);
  };

  const listen = async (at: number) => {
    const server = createServer(connect);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(at, "127.0.0.1", resolve);
    });
    const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
    return { close, port: (server.address() as AddressInfo).port };
  };

  listening = await listen(0);
  const own = listening.port;
  const url = new URL(target);
  url.host = `127.0.0.1:${own}`;

  const close = async () => {
    const closed = listening?.close();
    listening = null;
    connections.forEach(end);
    await closed;
  };
  return {
    url: url.href,
    async cut(wanted = "refuse") {
      if (wanted === "refuse") return close();
      manner = { kind: "hang up" };
      connections.forEach(end);
    },
    hungUp: () => hungUp,
    slow: (ms) => void (manner = { kind: "slow", ms }),
    cutAfter(bytes) {
      for (const connection of connections) connection.counted = 0;
      manner = { kind: "cut after", bytes };
    },
    blackHole: () => void (manner = { kind: "black hole" }),
    answer: (text) => void (manner = { kind: "answer", text }),
    holdResponsesTo: (text) =>
      new Promise((seen) => {
        held = { text, seen };
      }),
    holdRequest(text) {
      const seen = Promise.withResolvers<undefined>();
      let release: () => void = () => undefined;
      heldRequest = {
        text,
        seen: (pass) => {
          release = pass;
          seen.resolve(undefined);
        },
      };
      return { seen: seen.promise, release: () => release() };
    },
    async restore() {
      manner = { kind: "pass" };
      held = null;
      heldRequest = null;
      for (const connection of connections) if (connection.stuck) end(connection);
      listening ??= await listen(own);
    },
    redirectTo(other) {
      ({ hostname, port } = new URL(other));
      connections.forEach(end);
    },
    open: () => connections.size,
    stop: close,
  };
}
