import type { Service } from "../service.ts";

/** `createMyApiToken` with all fields. */
export const createMine = `mutation ($input: CreateApiTokenInput!) {
  createMyApiToken(input: $input) {
    id name token scopes isScoped createdAt expiresAt lastUsedAt revokedAt userId createdByUserId createdByTokenId
  }
}`;
const createTheirs = `mutation ($userId: ID!, $input: CreateApiTokenInput!) {
  createUserApiToken(userId: $userId, input: $input) { id token scopes isScoped userId createdByUserId }
}`;

export const day = 24 * 60 * 60 * 1000;
export const unknownId = "00000000-0000-7000-8000-000000000000";

/** Requests about API tokens, to a service that may start later. */
export function tokenRequests(service: () => Service) {
  async function sql<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
    return (await service().database.pool.query<T>(text, values)).rows;
  }
  return {
    sql,
    /** Creates a token for the caller. */
    mine: (token: string, input: Record<string, unknown> = {}) =>
      service().ask(createMine, { token, variables: { input: { name: "script", ...input } } }),
    /** Creates a token for another user. */
    theirs: (token: string, userId: string, input: Record<string, unknown> = {}) =>
      service().ask(createTheirs, {
        token,
        variables: { userId, input: { name: "script", ...input } },
      }),
    revoke: (token: string, id: string) =>
      service().ask(`mutation ($id: ID!) { revokeApiToken(id: $id) }`, {
        token,
        variables: { id },
      }),
    /** Whether a token authenticates its user. */
    opens: async (token: string) =>
      (await service().ask(`{ me { id } }`, { token })).data.me !== null,
    /** The error message of an operation; undefined on success. */
    refusal: async (token: string, query: string, variables: Record<string, unknown> = {}) =>
      (await service().ask(query, { token, variables })).errors?.[0]?.message,
    giveRole: async (userId: string, permissions: readonly string[]): Promise<void> => {
      const { roleId } = await service().login(permissions);
      await sql("insert into user_roles (user_id, role_id) values ($1, $2)", [userId, roleId]);
    },
  };
}
