import { expect } from "@jest/globals";
import type { Service } from "./service.ts";

/** Expects an HTML error page without internal details, and no identity or login code for this address. */
export async function expectRefusal(
  service: Service,
  email: string,
  response: Response,
  status: number,
): Promise<void> {
  const page = await response.text();
  expect([response.status, response.headers.get("location")]).toEqual([status, null]);
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(page).toContain(`<code>${response.headers.get("x-correlation-id") ?? "none"}</code>`);
  expect(page).not.toMatch(/node_modules|at \w+ \(|OAUTH_|Error:|select |jwt/i);
  const { rows } = await service.database.pool.query(
    `select (select count(*)::integer from user_identities i where i.user_id = u.id) as identities,
       (select count(*)::integer from login_codes c where c.user_id = u.id) as codes
     from users u where email = $1`,
    [email],
  );
  expect(rows).toEqual([{ identities: 0, codes: 0 }]);
}
