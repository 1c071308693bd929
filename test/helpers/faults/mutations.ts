import type { Random } from "../../../dev/emulators/erp/random.ts";

/** A mutation as a client sends it, and its expected effects. */
export interface Mutation {
  kind: string;
  document: string;
  variables: Record<string, unknown>;
  /** Records what the response promises; null for a lost response with a new token, which is shown only once. */
  // Responses differ by mutation.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  acknowledge: (data: any) => void;
}

/** An audit row that an acknowledged mutation must have left exactly once. */
export interface Trace {
  operation: "CREATE" | "UPDATE" | "DELETE";
  entity: string;
  /** Identified by id, or by a value that only this mutation wrote. */
  id?: string;
  field?: string;
  value?: string;
}

/** The expected rows of one client, which no other client changes. */
export interface ExpectedRows {
  campaigns: Map<string, { title: string; status: string } | null>;
  roles: Map<string, { name: string }>;
  invitations: Map<string, { email: string; revoked: boolean }>;
  /** Names by number. */
  products: Map<string, string>;
  /** Tokens by name. The id is null when the response was lost. */
  tokens: Map<string, { id: string | null; revoked: boolean }>;
  exports: Set<string>;
  traces: Trace[];
}

export function noExpectedRows(): ExpectedRows {
  return {
    campaigns: new Map(),
    roles: new Map(),
    invitations: new Map(),
    products: new Map(),
    tokens: new Map(),
    exports: new Set(),
    traces: [],
  };
}

/** The user who makes the mutations. */
export interface Author {
  userId: string;
  /** The prefix of all names. */
  prefix: string;
  /** Used by exports. */
  templateId: string;
  productIds: readonly string[];
}

/** Returns the next random mutation of a client. */
export function nextMutation(
  random: Random,
  promised: ExpectedRows,
  author: Author,
  count: number,
): Mutation {
  const label = `${author.prefix} ${count}`;
  const drafts = [...promised.campaigns].filter(([, campaign]) => campaign?.status === "DRAFT");
  const roles = [...promised.roles.keys()];
  const open = [...promised.invitations].filter(([, { revoked }]) => !revoked);
  const tokens = [...promised.tokens].filter(([, { id, revoked }]) => id !== null && !revoked);
  const oneOf = <T>(list: readonly T[]): T | undefined => list[random.below(list.length || 1)];
  const [campaign] = oneOf(drafts) ?? [];
  const role = oneOf(roles);
  const [invitation] = oneOf(open) ?? [];
  const [tokenName, token] = oneOf(tokens) ?? [];

  switch (random.below(16)) {
    case 0:
    case 1:
      if (campaign !== undefined) return renamed(promised, campaign, label);
      break;
    case 2:
      if (campaign !== undefined) return cancelled(promised, campaign, label);
      break;
    case 3:
      if (campaign !== undefined && drafts.length > 3) return removed(promised, campaign);
      break;
    case 4:
      return newRole(promised, label);
    case 5:
      if (role !== undefined) return renamedRole(promised, role, label);
      break;
    case 6:
    case 7:
      if (role !== undefined) return invited(promised, role, label);
      break;
    case 8:
      if (invitation !== undefined) return revokedInvitation(promised, invitation);
      break;
    case 9:
    case 10:
      return synced(promised, random, author.prefix, label);
    case 11:
      if (promised.exports.size < 12) return exported(promised, author, random);
      break;
    case 12:
      // A user may have a hundred tokens, including those of earlier tests.
      if ([...promised.tokens.values()].filter(({ revoked }) => !revoked).length < 2)
        return newToken(promised, label);
      break;
    case 13:
      if (tokenName !== undefined && token?.id) return revokedToken(promised, tokenName, token.id);
      break;
    default:
  }
  return newCampaign(promised, author, label);
}

function newCampaign(promised: ExpectedRows, { userId }: Author, title: string): Mutation {
  return {
    kind: "createCampaign",
    document: `mutation ($input: CreateCampaignInput!) { createCampaign(input: $input) { id title status } }`,
    variables: {
      input: {
        ...{ title, price: "9,90 €", medium: "EMAIL", status: "DRAFT" },
        ...{ scheduledAt: "2099-09-01T08:00:00Z", authorUserId: userId },
      },
    },
    acknowledge({ createCampaign: { id } }) {
      promised.campaigns.set(id, { title, status: "DRAFT" });
      promised.traces.push({ operation: "CREATE", entity: "Campaign", id });
    },
  };
}

function renamed(promised: ExpectedRows, id: string, title: string): Mutation {
  return {
    kind: "updateCampaign",
    document: `mutation ($id: ID!, $input: UpdateCampaignInput!) { updateCampaign(id: $id, input: $input) { id title } }`,
    variables: { id, input: { title } },
    acknowledge() {
      promised.campaigns.set(id, { title, status: "DRAFT" });
      promised.traces.push({
        ...{ operation: "UPDATE", entity: "Campaign", id },
        ...{ field: "title", value: title },
      });
    },
  };
}

function cancelled(promised: ExpectedRows, id: string, title: string): Mutation {
  return {
    kind: "endCampaign",
    document: `mutation ($id: ID!, $input: UpdateCampaignInput!) { updateCampaign(id: $id, input: $input) { id status } }`,
    variables: { id, input: { title, status: "CANCELLED" } },
    acknowledge() {
      promised.campaigns.set(id, { title, status: "CANCELLED" });
      promised.traces.push({
        ...{ operation: "UPDATE", entity: "Campaign", id },
        ...{ field: "status", value: "CANCELLED" },
      });
    },
  };
}

function removed(promised: ExpectedRows, id: string): Mutation {
  return {
    kind: "deleteCampaign",
    document: `mutation ($id: ID!) { deleteCampaign(id: $id) }`,
    variables: { id },
    acknowledge() {
      promised.campaigns.set(id, null);
      promised.traces.push({ operation: "DELETE", entity: "Campaign", id });
    },
  };
}

function newRole(promised: ExpectedRows, name: string): Mutation {
  return {
    kind: "createRole",
    document: `mutation ($input: CreateRoleInput!) { createRole(input: $input) { id } }`,
    variables: { input: { name, permissionKeys: ["campaigns.read"] } },
    acknowledge({ createRole: { id } }) {
      promised.roles.set(id, { name });
      promised.traces.push({ operation: "CREATE", entity: "Role", id });
    },
  };
}

function renamedRole(promised: ExpectedRows, id: string, name: string): Mutation {
  return {
    kind: "updateRole",
    document: `mutation ($id: ID!, $input: UpdateRoleInput!) { updateRole(id: $id, input: $input) { id } }`,
    variables: { id, input: { name } },
    acknowledge() {
      promised.roles.set(id, { name });
      promised.traces.push({
        ...{ operation: "UPDATE", entity: "Role", id },
        ...{ field: "name", value: name },
      });
    },
  };
}

function invited(promised: ExpectedRows, roleId: string, label: string): Mutation {
  const email = `${label.replaceAll(" ", ".")}@guests.example`.toLowerCase();
  return {
    kind: "createInvitation",
    document: `mutation ($input: CreateInvitationInput!) { createInvitation(input: $input) { id } }`,
    variables: { input: { email, roleId } },
    acknowledge({ createInvitation: { id } }) {
      promised.invitations.set(id, { email, revoked: false });
      promised.traces.push({ operation: "CREATE", entity: "Invitation", id });
    },
  };
}

function revokedInvitation(promised: ExpectedRows, id: string): Mutation {
  return {
    kind: "revokeInvitation",
    document: `mutation ($id: ID!) { revokeInvitation(id: $id) { id } }`,
    variables: { id },
    acknowledge() {
      const { email } = promised.invitations.get(id) ?? { email: "" };
      promised.invitations.set(id, { email, revoked: true });
    },
  };
}

function synced(promised: ExpectedRows, random: Random, prefix: string, name: string): Mutation {
  const numbers = [
    ...new Set(Array.from({ length: 5 }, () => `${prefix}-${random.below(60)}`)),
  ].toSorted();
  return {
    kind: "syncProducts",
    document: `mutation ($input: SyncProductsInput!) { syncProducts(input: $input) { failedCount products { id } } }`,
    variables: {
      input: {
        products: numbers.map((erpProductNumber) => ({ erpProductNumber, fields: { name } })),
      },
    },
    acknowledge({ syncProducts: { failedCount, products } }) {
      if (failedCount !== 0) throw new Error(`${failedCount} products failed`);
      numbers.forEach((number, index) => {
        const before = promised.products.has(number);
        promised.products.set(number, name);
        promised.traces.push({
          ...{ operation: before ? "UPDATE" : "CREATE", entity: "Product" },
          ...{ id: products[index].id, field: "name", value: name },
        });
      });
    },
  };
}

function exported(promised: ExpectedRows, author: Author, random: Random): Mutation {
  const from = random.below(author.productIds.length / 2);
  return {
    kind: "createDataExportFromTemplate",
    document: `mutation ($input: CreateDataExportFromTemplateInput!) { createDataExportFromTemplate(input: $input) { id } }`,
    variables: {
      input: { templateId: author.templateId, productIds: author.productIds.slice(from) },
    },
    acknowledge({ createDataExportFromTemplate: { id } }) {
      promised.exports.add(id);
      promised.traces.push({ operation: "CREATE", entity: "ExportJob", id });
    },
  };
}

function newToken(promised: ExpectedRows, name: string): Mutation {
  return {
    kind: "createMyApiToken",
    document: `mutation ($input: CreateApiTokenInput!) { createMyApiToken(input: $input) { id token } }`,
    variables: { input: { name, scopes: ["campaigns.read"] } },
    acknowledge(data) {
      promised.tokens.set(name, { id: data?.createMyApiToken.id ?? null, revoked: false });
    },
  };
}

function revokedToken(promised: ExpectedRows, name: string, id: string): Mutation {
  return {
    kind: "revokeApiToken",
    document: `mutation ($id: ID!) { revokeApiToken(id: $id) }`,
    variables: { id },
    acknowledge: () => void promised.tokens.set(name, { id, revoked: true }),
  };
}
