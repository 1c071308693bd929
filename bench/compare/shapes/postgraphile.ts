import { inOrder, type Shapes, usersInOrder } from "./shape.ts";

interface JoinedRole {
  role: { name: string; permissions?: { permission: { key: string } }[] };
}
const flat = (roles: JoinedRole[]) =>
  inOrder(
    roles.map(({ role: { permissions, ...role } }) => ({
      ...role,
      ...(permissions && { permissions: permissions.map(({ permission }) => permission) }),
    })),
  );

/** Bare PostGraphile: join rows are visible between two tables. */
export const postgraphileShapes: Shapes = {
  user: {
    document: `query One($id: UUID!) { user(rowId: $id) { id: rowId email name isActive createdAt
      roles: userRoles { role { id: rowId name permissions: rolePermissions { permission { id: rowId key } } } } } }`,
    toPublished: ({ user }: { user: { roles: JoinedRole[] } }) => ({
      user: { ...user, roles: flat(user.roles) },
    }),
  },
  users: {
    document: `query All { users { id: rowId email name isActive roles: userRoles { role { id: rowId name } } } }`,
    toPublished: ({ users }: { users: { email: string; roles: JoinedRole[] }[] }) => ({
      users: usersInOrder(users).map((user) => ({ ...user, roles: flat(user.roles) })),
    }),
  },
  products: {
    document: `query Vintage($vintage: Int!) { products(condition: { vintage: $vintage }, first: 50, orderBy: [NAME_ASC]) {
      id: rowId erpProductNumber name vintage producer country wineType { id: rowId name color } } }`,
    toPublished: ({ products }: { products: unknown[] }) => ({ products: { nodes: products } }),
  },
  campaigns: {
    document: `query Campaigns($offset: Int!) { campaigns(first: 100, offset: $offset, orderBy: [SCHEDULED_AT_DESC, ROW_ID_ASC]) {
      id: rowId title vintage color price medium status scheduledAt
      product { id: rowId name wineType { id: rowId name color } }
      author { id: rowId email name roles: userRoles { role { id: rowId name } } } } }`,
    toPublished: ({ campaigns }: { campaigns: { author: { roles: JoinedRole[] } }[] }) => ({
      campaigns: campaigns.map((campaign) => ({
        ...campaign,
        author: { ...campaign.author, roles: flat(campaign.author.roles) },
      })),
    }),
  },
  audit: {
    document: `query Audit($entityType: String!) { auditLogsConnection(condition: { entityType: $entityType }, first: 50,
      orderBy: [CREATED_AT_DESC]) {
      nodes { id: rowId actorUserId operation entityType entityId correlationId createdAt after } totalCount } }`,
    toPublished: ({
      auditLogsConnection: page,
    }: {
      auditLogsConnection: { nodes: unknown; totalCount: number };
    }) => ({ auditLogs: { items: page.nodes, total: page.totalCount, limit: 50, offset: 0 } }),
  },
  create: {
    document: `mutation Create($input: CampaignInput!) { createCampaign(input: { campaign: $input }) { campaign {
      id: rowId title price medium status scheduledAt product { id: rowId name } author { id: rowId email name } } } }`,
    toPublished: ({ createCampaign }: { createCampaign: { campaign: unknown } }) => ({
      createCampaign: createCampaign.campaign,
    }),
  },
};
