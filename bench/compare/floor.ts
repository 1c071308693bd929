import { createServer } from "node:http";
import pg from "pg";
import { operations } from "./operations.ts";

// The floor: a bare HTTP server whose one prepared statement for each operation returns the finished JSON. It checks nothing.
const pool = new pg.Pool({
  connectionString: process.argv[2],
  max: 10,
  options: "-c search_path=backoffice,extensions",
});
const byDocument = new Map(operations.map((operation, index) => [operation.document, index]));

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const body = JSON.parse(Buffer.concat(chunks).toString()) as {
      query: string;
      variables: unknown;
    };
    const index = byDocument.get(body.query);
    const operation = operations[index ?? -1];
    if (!operation) {
      response.writeHead(400).end();
      return;
    }
    const statement = {
      name: `operation_${index}`,
      text: operation.sql,
      // An operation without variables has no parameter.
      values: operation.sql.includes("$1") ? [JSON.stringify(body.variables)] : [],
      types: { getTypeParser: () => (text: string) => text },
    };
    pool.query<{ data: string }>(statement).then(
      ({ rows }) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(`{"data":${rows[0]?.data}}`);
      },
      (error: unknown) => {
        console.error(error);
        response.writeHead(500).end();
      },
    );
  });
});
server.keepAliveTimeout = 65_000;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address)
    process.send?.({ url: `http://127.0.0.1:${address.port}` });
});
process.on("disconnect", () => process.exit());
