import { Agent, request } from "node:http";

/** One request of the mix. */
export interface Sent {
  body: string | Buffer;
  writes: boolean;
}

/** The outcome of a request. `ms` counts from its due time, so that a late client does not hide a slow server. */
export interface Outcome {
  writes: boolean;
  /** Its due time by `performance.now()`. */
  due: number;
  /** 0 when the connection broke. */
  status: number;
  /** Whether a 200 contains errors. */
  failed: boolean;
  ms: number;
  /** From the time when it was sent or queued for a connection. */
  answeredIn: number;
  text: string;
}

/** A typical number of a load balancer's connections to one server. */
const connections = 512;

/** Sends GraphQL requests over persistent connections, or each over a new one. */
export function makeClient(url: string, token: string, keepAlive = true) {
  const agent = new Agent({
    keepAlive,
    maxSockets: connections,
    maxFreeSockets: connections,
  });
  const { hostname: host, port } = new URL(url);
  const headers = {
    "content-type": "application/json",
    accept: "application/json",
    authorization: `Bearer ${token}`,
  };

  function send({ body, writes }: Sent, due = performance.now()): Promise<Outcome> {
    return new Promise((resolve) => {
      const started = performance.now();
      // Long responses are not decoded, because real clients decode them on other machines.
      const end = (status: number, answer: Buffer) => {
        const now = performance.now();
        const failed = status === 200 && answer.includes('"errors":[');
        resolve({
          writes,
          due,
          status,
          failed,
          ms: now - due,
          answeredIn: now - started,
          text: status === 200 && !failed ? "" : answer.toString("utf8", 0, 300),
        });
      };
      const sent = request(
        {
          agent,
          host,
          port,
          path: "/graphql",
          method: "POST",
          headers: { ...headers, "content-length": Buffer.byteLength(body) },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("end", () => end(response.statusCode ?? 0, Buffer.concat(chunks)));
          response.on("error", (error) => end(0, Buffer.from(String(error))));
        },
      );
      sent.on("error", (error) => {
        const kept = sent.reusedSocket ? "kept" : "new";
        end(
          0,
          Buffer.from(
            `${String(error)} on a ${kept} connection after ${(performance.now() - started).toFixed(0)} ms`,
          ),
        );
      });
      sent.end(body);
    });
  }

  /** Sends this many requests a second, independently of responses, until `isOver`. */
  async function atRate(
    perSecond: number,
    isOver: () => boolean,
    next: (n: number) => Sent,
  ): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    const open = new Set<Promise<void>>();
    const started = performance.now();
    let n = 0;
    while (!isOver()) {
      for (; n < ((performance.now() - started) / 1000) * perSecond; n++) {
        const due = started + (n * 1000) / perSecond;
        const one = send(next(n), due).then((outcome) => {
          outcomes.push(outcome);
          open.delete(one);
        });
        open.add(one);
      }
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await Promise.all(open);
    return outcomes;
  }

  /** Sends requests as fast as responses arrive, over this many connections, until `isOver`. */
  async function asFastAs(
    connections: number,
    isOver: () => boolean,
    next: (n: number) => Sent,
    seen: (outcome: Outcome) => void,
  ): Promise<void> {
    let n = 0;
    const one = async () => {
      while (!isOver()) seen(await send(next(n++)));
    };
    await Promise.all(Array.from({ length: connections }, one));
  }

  return { send, atRate, asFastAs, close: () => agent.destroy() };
}

export type Client = ReturnType<typeof makeClient>;

/** Returns a function that tests whether this many seconds have passed. */
export function after(seconds: number): () => boolean {
  const end = performance.now() + seconds * 1000;
  return () => performance.now() >= end;
}
