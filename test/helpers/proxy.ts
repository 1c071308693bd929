import { type AddressInfo, type Socket, createConnection, createServer } from "node:net";
import { Transform } from "node:stream";

/** A relay before a TCP server that can be taken away and given back. */
export interface Proxy {
  /** The same address as the server's, but through the relay. */
  url: string;
  /** Cuts all connections; new ones are refused, or taken and hung up. */
  cut(manner?: "refuse" | "hang up"): Promise<void>;
  /** Connections that were hung up. */
  hungUp(): number;
  /** Lets each piece that is sent wait for so many milliseconds, in both directions. */
  slow(ms: number): void;
  /** Hangs up on each connection as soon as so many bytes were answered on it from now on. */
  cutAfter(bytes: number): void;
  /** Takes connections and what is sent, and lets nothing through; those that were open stay open. */
  blackHole(): void;
  /** Gives this text in place of each answer, and hangs up: what a broken server says. */
  answer(text: string): void;
  /** Lets connections through again, at the same port; those on which something was held back are cut. */
  restore(): Promise<void>;
  /** Lets what is sent pass, but no answer on a connection that has sent this text; tells when one has, until `restore`. */
  holdAnswersTo(text: string): Promise<void>;
  /** Holds back the piece of a request with this text, and what follows it; `seen` when it came, and it goes on by `release`. */
  holdRequest(text: string): { seen: Promise<unknown>; release: () => void };
  /** Leads to another server from now on, as a balancer does after a failover: connections to the one before are cut. */
  turnTo(target: string): void;
  /** Connections that are open at present. */
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

/** One connection through the relay. */
interface Connection {
  inner: Socket;
  outer: Socket;
  /** Nothing comes through any more. */
  stuck: boolean;
  /** It got a text in place of its answer. */
  answered: boolean;
  /** Bytes that were answered while the relay counted. */
  counted: number;
}

/** An answer in HTTP, for `Proxy.answer`. */
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

/** Starts a relay before the server that a URL names. */
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

  /** What passes on in one direction; a chunk whose `done` is never called holds up all that come after it. */
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
      // The other end of a connection that breaks notices it, which is all there is to do.
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
    holdAnswersTo: (text) =>
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
    turnTo(other) {
      ({ hostname, port } = new URL(other));
      connections.forEach(end);
    },
    open: () => connections.size,
    stop: close,
  };
}
