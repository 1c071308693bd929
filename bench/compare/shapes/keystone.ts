import { inOrder, type Shapes } from "./shape.ts";

type Role = Parameters<typeof inOrder>[0][number];
interface Created {
  productId: string;
  authorUserId: string;
}

/** Keystone: filters and orders are objects, and references use `connect`. */
export const keystoneShapes: Shapes = {
  user: {
    document: `query One($id: ID!) { user(where: { id: $id }) { id email name isActive createdAt
      roles { id name permissions { id key } } } }`,
    toPublished: ({ user }: { user: { roles: Role[] } }) => ({
      user: { ...user, roles: inOrder(user.roles) },
    }),
  },
  users: {
    document:
      "query All { users(orderBy: [{ email: asc }]) { id email name isActive roles { id name } } }",
    toPublished: ({ users }: { users: { email: string; roles: Role[] }[] }) => ({
      users: users.map((user) => ({ ...user, roles: inOrder(user.roles) })),
    }),
  },
  products: {
    document: `query Vintage($vintage: Int!) {
      products(where: { vintage: { equals: $vintage } }, take: 50, orderBy: [{ name: asc }, { id: asc }]) {
        id erpProductNumber name vintage producer country wineType { id name color } } }`,
    toPublished: ({ products }: { products: unknown[] }) => ({ products: { nodes: products } }),
  },
  campaigns: {
    document: `query Campaigns($offset: Int!) {
      campaigns(take: 100, skip: $offset, orderBy: [{ scheduledAt: desc }, { id: asc }]) {
        id title vintage color price medium status scheduledAt
        product { id name wineType { id name color } } author { id email name roles { id name } } } }`,
    toPublished: ({ campaigns }: { campaigns: { author: { roles: Role[] } }[] }) => ({
      campaigns: campaigns.map((campaign) => ({
        ...campaign,
        author: { ...campaign.author, roles: inOrder(campaign.author.roles) },
      })),
    }),
  },
  audit: {
    document: `query Audit($entityType: String!) {
      auditLogs(where: { entityType: { equals: $entityType } }, take: 50, orderBy: [{ createdAt: desc }, { id: desc }]) {
        id actorUserId operation entityType entityId correlationId createdAt after }
      auditLogsCount(where: { entityType: { equals: $entityType } }) }`,
    toPublished: ({
      auditLogs,
      auditLogsCount,
    }: {
      auditLogs: unknown[];
      auditLogsCount: number;
    }) => ({
      auditLogs: { items: auditLogs, total: auditLogsCount, limit: 50, offset: 0 },
    }),
  },
  create: {
    document: `mutation Create($data: CampaignCreateInput!) { createCampaign(data: $data) {
      id title price medium status scheduledAt product { id name } author { id email name } } }`,
    variables: ({ input: { productId, authorUserId, ...input } }: { input: Created }) => ({
      data: {
        ...input,
        product: { connect: { id: productId } },
        author: { connect: { id: authorUserId } },
      },
    }),
    toPublished: (data) => data,
  },
};
