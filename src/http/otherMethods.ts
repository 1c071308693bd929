import { type IRouter, Router } from "express";
import { HttpError } from "../errors/HttpError.ts";

/**
 * Refuses whatever asks for a path of the routers by a method that none of them has for it: 405, with those that they have. To be
 * put behind them.
 */
export function otherMethods(routers: IRouter): Router {
  const methods = new Map<string, Set<string>>();
  const collect = ({ stack }: Pick<IRouter, "stack">) => {
    for (const { route, handle } of stack) {
      if (route) {
        const known = methods.get(route.path) ?? new Set<string>();
        methods.set(route.path, known);
        for (const { method } of route.stack) known.add(method.toUpperCase());
        // Express answers it by what GET answers.
        if (known.has("GET")) known.add("HEAD");
      } else if ("stack" in handle) collect(handle as IRouter);
    }
  };
  collect(routers);

  const router = Router();
  for (const [path, known] of methods)
    router.all(path, (request, response, next) => {
      if (known.has(request.method)) {
        next();
        return;
      }
      response.setHeader("Allow", [...known].join(", "));
      throw new HttpError(405, "BAD_USER_INPUT", `Use ${[...known].join(" or ")} here`);
    });
  return router;
}
