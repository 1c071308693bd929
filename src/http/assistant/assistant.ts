import { Router } from "express";
import { attachments } from "./attachments.ts";
import { chat } from "./chat.ts";
import { conversations } from "./conversations.ts";
import type { Surroundings } from "./surroundings.ts";

/** All routes below `/ai`. `stop` ends the answers in progress. */
export function assistant(surroundings: Surroundings): {
  router: Router;
  stop: () => Promise<void>;
} {
  const { router: chatRouter, stop } = chat(surroundings);
  const router = Router();
  router.use(chatRouter, conversations(surroundings), attachments(surroundings));
  return { router, stop };
}
