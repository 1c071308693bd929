import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { allPermissions, insertApiToken } from "../helpers/apiToken.ts";
import { type Service, startService } from "../helpers/service.ts";
import { codeOf, deactivate, myToken, setRoles, stage } from "../helpers/graphql/attacks.ts";

type Login = Awaited<ReturnType<Service["login"]>>;

let service: Service;
let systemRole: string;
const { ask, sql, superadmin, superadminRole } = stage(() => service);

beforeAll(async () => {
  service = await startService();
  systemRole = await superadminRole();
});
afterAll(async () => {
  await service.stop();
});

const activeSuperadmins = async () =>
  (
    await sql(
      "select from user_roles ur join users u on u.id = ur.user_id where ur.role_id = $1 and u.is_active",
      [systemRole],
    )
  ).length;

describe("the last active Superadmin", () => {
  beforeAll(() => sql("delete from user_roles where role_id = $1", [systemRole]));

  test("cannot deactivate themselves or remove their role", async () => {
    const last = await superadmin();
    // Has all permissions of a Superadmin without the role, because a caller with fewer is rejected for that reason.
    const admin = await service.login(await allPermissions(service.database));
    const wide = await insertApiToken(service.database, last.userId);
    for (const token of [admin.token, last.token, wide.token]) {
      expect(codeOf(await ask(token, deactivate, { id: last.userId }))).toBe("CONFLICT");
      expect(codeOf(await ask(token, setRoles, { id: last.userId, roleIds: [] }))).toBe("CONFLICT");
    }
    expect(await activeSuperadmins()).toBe(1);
  });

  test("remains when two deactivate each other or remove each other's role concurrently", async () => {
    await sql("delete from user_roles where role_id = $1", [systemRole]);
    for (let round = 0; round < 10; round++) {
      const [first, second] = [await superadmin(), await superadmin()];
      const strip = (by: Login, of: Login) =>
        round % 2
          ? ask(by.token, deactivate, { id: of.userId })
          : ask(by.token, setRoles, { id: of.userId, roleIds: [] });
      await Promise.all([
        strip(first, second),
        strip(second, first),
        ask(first.token, setRoles, { id: first.userId, roleIds: [] }),
        ask(second.token, setRoles, { id: second.userId, roleIds: [] }),
      ]);
      expect(await activeSuperadmins()).toBe(1);
      await sql("delete from user_roles where role_id = $1", [systemRole]);
    }
  });
});

describe("a user during deactivation", () => {
  test("keeps no token that is created concurrently", async () => {
    const admin = await superadmin();
    for (let round = 0; round < 10; round++) {
      const leaver = await service.login([]);
      const { token } = await insertApiToken(service.database, leaver.userId);
      const making = () => [ask(leaver.token, myToken), ask(token, myToken)];
      await Promise.all([
        ...making(),
        ask(admin.token, deactivate, { id: leaver.userId }),
        ...making(),
      ]);
      expect(
        await sql("select from api_tokens where user_id = $1 and revoked_at is null", [
          leaver.userId,
        ]),
      ).toEqual([]);
      expect(
        await sql("select from sessions where user_id = $1 and ended_at is null", [leaver.userId]),
      ).toEqual([]);
    }
  });
});
