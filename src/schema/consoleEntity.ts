import type { Guard } from "../auth/guards.ts";
import type {
  ConsoleArgument,
  EntityAction,
  EntityDescription,
  EntityField,
  ReportDescription,
} from "./entityDescription.ts";

/** A table with the guards of its reads, mutations and actions. */
export interface ConsoleEntity extends EntityDescription {
  guard: Guard;
  /** The guard of the history of rows. */
  historyGuard: Guard;
  /** Whether owners may read the history of their rows without its guard. */
  hasOwnRows: boolean;
  /** The field with the owner of a row; null in tables without an owner, and where the API does not show it. */
  ownerField: string | null;
  fields: ConsoleField[];
  mutations: Record<Verb, ConsoleMutation | null>;
  actions: ConsoleAction[];
}

/** A field, with the guard of the rows that it shows if that guard is stricter than the table's. */
export type ConsoleField = EntityField & { guard?: Guard };

export type ConsoleAction = EntityAction & { guard: Guard };

export type ConsoleReport = ReportDescription & { guard: Guard; actions: ConsoleAction[] };

export type Verb = "create" | "update" | "delete";

export interface ConsoleMutation {
  field: string;
  inputType: string | null;
  takesVersion: boolean;
  /** The mutation that does the same with many rows; null if there is none. */
  bulk: { field: string; mostRows: number } | null;
  /** The field with the user whose rows alone the mutation changes; null if it changes all rows that the caller sees. */
  ownerField: string | null;
  /** The arguments besides `id`, `input` and `ifVersion`, in the order of the form. */
  arguments: ConsoleArgument[];
  guard: Guard;
  description: string;
}
