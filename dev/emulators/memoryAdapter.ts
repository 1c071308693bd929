import type { Adapter, AdapterPayload } from "oidc-provider";

interface Entry {
  payload: AdapterPayload;
  expiresAt: number;
}

/** Maximum number of entries. The oldest one is evicted first. */
const maxEntries = 10_000;

/** Stores the state of an identity provider in memory, until it expires or the process ends. */
export function makeMemoryAdapter(): (model: string) => Adapter {
  const entries = new Map<string, Entry>();
  const byGrant = new Map<string, Set<string>>();

  const find = (key: string): AdapterPayload | undefined => {
    const entry = entries.get(key);
    if (entry && entry.expiresAt > Date.now()) return entry.payload;
    entries.delete(key);
    return undefined;
  };
  const oldest = () => entries.keys().next().value;

  return (model) => {
    const keyOf = (id: string) => `${model}:${id}`;
    const findBy = (field: "uid" | "userCode", value: string) => {
      for (const key of entries.keys()) {
        const payload = key.startsWith(`${model}:`) ? find(key) : undefined;
        if (payload?.[field] === value) return payload;
      }
      return undefined;
    };
    return {
      upsert(id, payload, expiresIn) {
        const key = keyOf(id);
        entries.delete(key);
        entries.set(key, { payload, expiresAt: Date.now() + (expiresIn || 86_400) * 1000 });
        if (payload.grantId !== undefined && model !== "Grant")
          byGrant.set(payload.grantId, (byGrant.get(payload.grantId) ?? new Set()).add(key));
        const surplus = entries.size > maxEntries ? oldest() : undefined;
        if (surplus !== undefined) entries.delete(surplus);
        return Promise.resolve();
      },
      find: (id) => Promise.resolve(find(keyOf(id))),
      findByUid: (uid) => Promise.resolve(findBy("uid", uid)),
      findByUserCode: (userCode) => Promise.resolve(findBy("userCode", userCode)),
      consume(id) {
        const payload = find(keyOf(id));
        if (payload) payload.consumed = Math.floor(Date.now() / 1000);
        return Promise.resolve();
      },
      destroy(id) {
        entries.delete(keyOf(id));
        return Promise.resolve();
      },
      revokeByGrantId(grantId) {
        for (const key of byGrant.get(grantId) ?? []) entries.delete(key);
        byGrant.delete(grantId);
        return Promise.resolve();
      },
    };
  };
}
