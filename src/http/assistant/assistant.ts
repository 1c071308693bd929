import { Router } from "express";
import { attachments } from "./attachments.ts";
import { chat } from "./chat.ts";
import { conversations } from "./conversations.ts";
import type { AssistantDependencies } from "./dependencies.ts";

/** All routes below `/ai`. `stop` ends the answers in progress. */
export function assistant(dependencies: AssistantDependencies): {
  router: Router;
  stop: () => Promise<void>;
} {
  const { router: chatRouter, stop } = chat(dependencies);
  const router = Router();
  router.use(chatRouter, conversations(dependencies), attachments(dependencies));
  return { router, stop };
}
