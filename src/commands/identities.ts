import type pg from "pg";
import { OperatorError } from "../text/OperatorError.ts";
import { UsageError } from "../process/commandLine.ts";
import { asOwner, runCommand } from "./runCommand.ts";

// `npm run identities`: lists the identity providers by which users log in, and unlinks all users from one of them. For
// the move to another provider; the mutation `unlinkUserLogins` does it for one user.

const command = {
  usage: `Usage: npm run identities -- list
       npm run identities -- unlink --issuer <issuer>`,
  options: { issuer: { type: "string" } },
} as const;

interface Provider {
  issuer: string;
  users: string;
  last_linked: Date;
}

await runCommand(command, async (config, { values: { issuer }, positionals }) => {
  const [action, ...others] = positionals;
  if (others.length > 0 || (action !== "list" && action !== "unlink"))
    throw new UsageError("Choose list or unlink", command.usage);
  if ((action === "unlink") !== (issuer !== undefined))
    throw new UsageError("--issuer belongs to unlink, which needs it", command.usage);
  return asOwner(config, (client) =>
    issuer === undefined ? list(client) : unlink(client, issuer),
  );
});

async function providersOf(client: pg.ClientBase): Promise<Provider[]> {
  const { rows } = await client.query<Provider>(
    "select issuer, count(*) as users, max(created_at) as last_linked from user_identities group by 1 order by 1",
  );
  return rows;
}

async function list(client: pg.ClientBase): Promise<number> {
  const providers = await providersOf(client);
  for (const { issuer, users, last_linked: linked } of providers)
    console.log(`${issuer}  ${users} users, the last one linked ${linked.toISOString()}`);
  if (providers.length === 0) console.log("No user has logged in through an identity provider");
  return 0;
}

async function unlink(client: pg.ClientBase, issuer: string): Promise<number> {
  const { rowCount } = await client.query("delete from user_identities where issuer = $1", [
    issuer,
  ]);
  if (rowCount === 0) {
    const known = (await providersOf(client)).map((provider) => provider.issuer);
    throw new OperatorError(
      `No user is linked with ${issuer}; the issuers are ${known.join(", ") || "none"}`,
    );
  }
  console.log(
    `${rowCount} users are no longer linked with ${issuer}: each is matched by a verified e-mail address at the next login. Sessions continue.`,
  );
  return 0;
}
