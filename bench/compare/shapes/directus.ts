import { inOrder, type Shapes } from "./shape.ts";

interface JoinedRole {
  role_id: { name: string; permissions?: { permission_id: { key: string } }[] };
}
const flat = (roles: JoinedRole[]) =>
  inOrder(
    roles.map(({ role_id: { permissions, ...role } }) => ({
      ...role,
      ...(permissions && { permissions: permissions.map(({ permission_id: one }) => one) }),
    })),
  );
interface Created {
  productId: string;
  authorUserId: string;
}

/** Directus: join rows are visible between two tables, and references are objects. */
export const directusShapes: Shapes = {
  user: {
    document: `query One($id: ID!) { users_by_id(id: $id) { id email name isActive createdAt
      roles { role_id { id name permissions { permission_id { id key } } } } } }`,
    toPublished: ({ users_by_id: user }: { users_by_id: { roles: JoinedRole[] } }) => ({
      user: { ...user, roles: flat(user.roles) },
    }),
  },
  users: {
    document: `query All { users(sort: ["email"], limit: -1) { id email name isActive roles { role_id { id name } } } }`,
    toPublished: ({ users }: { users: { roles: JoinedRole[] }[] }) => ({
      users: users.map((user) => ({ ...user, roles: flat(user.roles) })),
    }),
  },
  products: {
    document: `query Vintage($vintage: GraphQLStringOrFloat!) {
      products(filter: { vintage: { _eq: $vintage } }, limit: 50, sort: ["name", "id"]) {
        id erpProductNumber name vintage producer country wineType { id name color } } }`,
    toPublished: ({ products }: { products: unknown[] }) => ({ products: { nodes: products } }),
  },
  campaigns: {
    document: `query Campaigns($offset: Int!) { campaigns(limit: 100, offset: $offset, sort: ["-scheduledAt", "id"]) {
      id title vintage color price medium status scheduledAt
      product { id name wineType { id name color } } author { id email name roles { role_id { id name } } } } }`,
    toPublished: ({ campaigns }: { campaigns: { author: { roles: JoinedRole[] } }[] }) => ({
      campaigns: campaigns.map((campaign) => ({
        ...campaign,
        author: { ...campaign.author, roles: flat(campaign.author.roles) },
      })),
    }),
  },
  audit: {
    document: `query Audit($entityType: String!) {
      audit_log(filter: { entityType: { _eq: $entityType } }, limit: 50, sort: ["-createdAt", "-id"]) {
        id actorUserId operation entityType entityId correlationId createdAt after }
      audit_log_aggregated(filter: { entityType: { _eq: $entityType } }) { count { id } } }`,
    toPublished: ({
      audit_log: items,
      audit_log_aggregated: [counted],
    }: {
      audit_log: unknown[];
      audit_log_aggregated: { count: { id: number } }[];
    }) => ({ auditLogs: { items, total: counted?.count.id, limit: 50, offset: 0 } }),
  },
  create: {
    document: `mutation Create($data: create_campaigns_input!) { create_campaigns_item(data: $data) {
      id title price medium status scheduledAt product { id name } author { id email name } } }`,
    variables: ({ input: { productId, authorUserId, ...input } }: { input: Created }) => ({
      data: { ...input, product: { id: productId }, author: { id: authorUserId } },
    }),
    toPublished: ({ create_campaigns_item: campaign }: { create_campaigns_item: unknown }) => ({
      createCampaign: campaign,
    }),
  },
};
