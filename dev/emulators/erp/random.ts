import { createHash } from "node:crypto";

/** Pseudo-random numbers that depend only on a seed. */
export interface Random {
  /** An integer from 0 to `count` - 1. */
  below(count: number): number;
  pick<const List extends readonly [unknown, ...unknown[]]>(from: List): List[number];
  /** True once in `count` on average. */
  once(count: number): boolean;
}

/** Each set of parts has a separate sequence, so that an order can be generated without those before it. */
export function randomOf(...parts: readonly (string | number)[]): Random {
  let state = createHash("sha256").update(parts.join("\n")).digest().readUInt32LE(0);
  // The mulberry32 generator.
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (count: number) => Math.floor(next() * count);
  return {
    below,
    pick: (from) => from[below(from.length)] ?? from[0],
    once: (count) => below(count) === 0,
  };
}

/** A GUID that depends only on its parts. */
export function idOf(...parts: readonly (string | number)[]): string {
  const hex = createHash("md5").update(parts.join("\n")).digest("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Business Central's value for no id. */
export const noId = "00000000-0000-0000-0000-000000000000";
