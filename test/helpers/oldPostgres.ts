import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

/** A fake PostgreSQL server that accepts every login and answers each query with a version. */
export interface OldPostgres {
  url: string;
  /** The received queries. */
  queries: string[];
  stop(): Promise<void>;
}

const sslRequest = 80_877_103;

/** Starts a fake server of the given version. */
export async function startOldPostgres(version: string): Promise<OldPostgres> {
  const queries: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let started = false;
    let received = Buffer.alloc(0);
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
      for (;;) {
        // The startup message has no type byte before its length.
        const start = started ? 1 : 0;
        if (received.length < start + 4) return;
        const length = start + received.readInt32BE(start);
        if (received.length < length) return;
        const piece = received.subarray(0, length);
        received = received.subarray(length);
        if (started) answer(piece);
        else if (piece.readInt32BE(4) === sslRequest) socket.write("N");
        else begin(piece);
      }
    });

    function begin(piece: Buffer): void {
      if (piece.includes("role=")) {
        const fields = ["SFATAL", "C22023", 'Mrole "office_server" does not exist', ""];
        socket.end(message("E", text(...fields)));
        return;
      }
      started = true;
      socket.write(
        Buffer.concat([
          message("R", int32(0)),
          message("S", text("server_version", version)),
          message("Z", Buffer.from("I")),
        ]),
      );
    }

    function answer(piece: Buffer): void {
      if (piece.toString("latin1", 0, 1) !== "Q") return;
      const query = piece.toString("utf8", 5, piece.length - 1);
      queries.push(query);
      const column = [int16(1), text("version"), int32(0), int16(0), int32(25), int16(-1)];
      const value = Buffer.from(version);
      socket.write(
        Buffer.concat([
          message("T", ...column, int32(-1), int16(0)),
          message("D", int16(1), int32(value.length), value),
          message("C", text("SELECT 1")),
          message("Z", Buffer.from("I")),
        ]),
      );
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `postgres://office_admin@127.0.0.1:${(server.address() as AddressInfo).port}/office`,
    queries,
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function message(type: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

function text(...values: string[]): Buffer {
  return Buffer.from(values.map((value) => `${value}\0`).join(""));
}

function int16(value: number): Buffer {
  const buffer = Buffer.alloc(2);
  buffer.writeInt16BE(value);
  return buffer;
}

function int32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeInt32BE(value);
  return buffer;
}
