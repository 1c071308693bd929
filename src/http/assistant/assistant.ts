import { Router } from "express";
import { attachments } from "./attachments.ts";
import { chat } from "./chat.ts";
import { conversations } from "./conversations.ts";
import type { Surroundings } from "./surroundings.ts";

/** Everything beneath `/ai`, and how the answers under way are ended when the server is. */
export function assistant(surroundings: Surroundings): {
  router: Router;
  stop: () => Promise<void>;
} {
  const { router: chatRouter, stop } = chat(surroundings);
  const router = Router();
  router.use(chatRouter, conversations(surroundings), attachments(surroundings));
  return { router, stop };
}
