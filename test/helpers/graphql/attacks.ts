import type { Answer, Service } from "../service.ts";

export const createRole = `mutation ($name: String!, $keys: [String!]!) { createRole(input: {name: $name, permissionKeys: $keys}) { id } }`;
export const updateRole = `mutation ($id: ID!, $keys: [String!]) { updateRole(id: $id, input: {permissionKeys: $keys}) { id } }`;
export const setRoles = `mutation ($id: ID!, $roleIds: [ID!]) { updateUser(id: $id, input: {roleIds: $roleIds}) { id } }`;
export const invite = `mutation ($email: String!, $roleId: ID!) { createInvitation(input: {email: $email, roleId: $roleId}) { id } }`;
export const myToken = `mutation ($scopes: [String!]) { createMyApiToken(input: {name: "x", scopes: $scopes}) { id token } }`;
export const userToken = `mutation ($id: ID!, $scopes: [String!]) { createUserApiToken(userId: $id, input: {name: "x", scopes: $scopes}) { id token } }`;
export const activate = `mutation ($id: ID!) { activateUser(userId: $id) { id isActive } }`;
export const deactivate = `mutation ($id: ID!) { deactivateUser(userId: $id) { id } }`;

/** The permissions that let a caller grant rights to others. */
export const granting = [
  "roles.create",
  "roles.update",
  "roles.delete",
  "users.update",
  "invitations.create",
  "roles.read",
];

export const codeOf = (answer: Answer) => answer.errors?.[0]?.extensions.code;
export const messageOf = (answer: Answer) => answer.errors?.[0]?.message;

/** Helpers for attackers and their targets, in a service that may start later. */
export function stage(service: () => Service) {
  let superadmins = 0;
  async function sql<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
    return (await service().database.pool.query<T>(text, values)).rows;
  }
  async function superadminRole(): Promise<string> {
    const [role] = await sql<{ id: string }>("select id from roles where is_system");
    return role?.id ?? "";
  }
  return {
    sql,
    superadminRole,
    ask: (token: string, query: string, variables: Record<string, unknown> = {}) =>
      service().ask(query, { token, variables }),

    /** Logs in another Superadmin. */
    superadmin: async (): ReturnType<Service["login"]> => {
      const login = await service().login([], `superadmin${++superadmins}@example.com`);
      await sql("insert into user_roles (user_id, role_id) values ($1, $2)", [
        login.userId,
        await superadminRole(),
      ]);
      return login;
    },

    /** All granted permissions, roles and token scopes, and all invitations. */
    allRights: () =>
      sql(
        `select 'role' as kind, role_id::text as holder, permission_id::text as what from role_permissions
         union all select 'user', user_id::text, role_id::text from user_roles
         union all select 'token', user_id::text, array_to_string(scopes, ',') from api_tokens
         union all select 'invitation', email, role_id::text from invitations
         order by 1, 2, 3`,
      ),
  };
}
