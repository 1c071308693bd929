import { type IRouter, Router } from "express";
import { HttpError } from "../errors/HttpError.ts";

/** Answers 405 with `Allow` when a path exists but not with this method. To be mounted after the routers. */
export function methodNotAllowed(routers: IRouter): Router {
  const methods = new Map<string, Set<string>>();
  const collect = ({ stack }: Pick<IRouter, "stack">) => {
    for (const { route, handle } of stack) {
      if (route) {
        const known = methods.get(route.path) ?? new Set<string>();
        methods.set(route.path, known);
        for (const { method } of route.stack) known.add(method.toUpperCase());
        // Express answers HEAD with the GET handler.
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
