import { test } from "@jest/globals";
import express, { Router } from "express";
import { contractOf } from "../helpers/internals/contract.ts";

test("a router's stack shows its routes, their methods and the routers within", () => {
  const requireThat = contractOf("router", "src/http/methodNotAllowed.ts");
  const inner = Router();
  inner.post("/path", () => undefined);
  const app = express();
  app.use(inner);
  const [layer] = app.router.stack;
  const stack = (layer?.handle as unknown as { stack?: typeof app.router.stack }).stack;
  requireThat("a layer's handle has the stack of a mounted router", Array.isArray(stack));
  const route = stack?.[0]?.route;
  requireThat("a layer has its route with the path", route?.path === "/path");
  requireThat("a route's stack has its methods", route?.stack[0]?.method === "post");
});
