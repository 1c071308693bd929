import type {
  ConsoleArgument,
  EntityAction,
  EntityDescription,
  EntityField,
  ReportDescription as Report,
} from "../../../src/schema/entityDescription.ts";
import type { Row } from "./rows.ts";

export type {
  ConsoleArgument,
  EntityAction,
  EntityField,
  EntityParent,
  EntityReference,
  EntityRelation,
  ReportDescription as Report,
} from "../../../src/schema/entityDescription.ts";

/** The response of the `console` query: tables with their titles, and what the caller may do. */
export interface ConsoleMetadata {
  version: string;
  title: string;
  /** The origins that the page may load pictures from, beside its own. */
  imageOrigins: string[];
  me: Me;
  /** The table of users as a form for the row of the caller; null without a session. */
  profile: Entity | null;
  entities: Entity[];
  closedEntities: ClosedEntity[];
  /** The queries that the console shows on separate pages. */
  reports: Report[];
  closedReports: ClosedEntity[];
}

/** A table or a report that the caller may not read. */
export interface ClosedEntity {
  name: string;
  title: string;
  permission: string | null;
}

export interface Me {
  user: { id: string; name: string | null; email: string; avatarUrl: string | null };
  permissions: string[];
}

/** A table that the caller may read. */
export interface Entity extends EntityDescription {
  canCreate: CreateMutation | null;
  canUpdate: EntityMutation | null;
  canDelete: EntityMutation | null;
  missing: MissingPermission[];
}

/** A table or a report whose rows have actions. */
export type ActionOwner = Pick<Entity, "fields" | "actions">;

export interface EntityMutation {
  field: string;
  inputType: string | null;
  takesVersion: boolean;
  /** The mutation that changes or deletes many rows at once. */
  bulk?: { field: string; mostRows: number } | null;
  /** The field with the user whose rows alone the mutation changes; null if it changes all rows that the caller sees. */
  ownerField: string | null;
}

export interface CreateMutation extends EntityMutation {
  /** The arguments besides `input`. */
  arguments: ConsoleArgument[];
}

export interface MissingPermission {
  verb: string;
  permission: string | null;
  description: string;
}

/** The metadata, indexed by name. */
export class Entities {
  readonly metadata: ConsoleMetadata;
  /** The tables with a root list. Rows of other tables are shown in tabs of their parent rows. */
  readonly listed: readonly Entity[];
  readonly #byName: Map<string, Entity>;

  constructor(metadata: ConsoleMetadata) {
    this.metadata = metadata;
    this.listed = metadata.entities.filter(({ listField }) => listField !== null);
    this.#byName = new Map(metadata.entities.map((entity) => [entity.name, entity]));
  }

  /** The table `name` if the caller may not read it. */
  closed(name: string): ClosedEntity | undefined {
    return this.metadata.closedEntities.find((entity) => entity.name === name);
  }

  get(name: string): Entity | undefined {
    return this.#byName.get(name);
  }

  /** The table of a row. Users may open their own row even if they may not read the table. */
  ofRow(name: string, id: string): Entity | undefined {
    const { profile, me } = this.metadata;
    const isOwn = profile?.name === name && me.user.id === id;
    return this.get(name) ?? (isOwn ? profile : undefined);
  }

  /** The mutation, unless it changes only rows of their owner and the caller is not the owner of the row. */
  mutationOfRow(mutation: EntityMutation | null, row: Row): EntityMutation | null {
    return mutation && this.#isAllowed(mutation.ownerField, row) ? mutation : null;
  }

  /** Whether the caller may read the history of the row. */
  hasHistory({ hasHistory, historyOwnerField }: Entity, row: Row): boolean {
    return hasHistory && this.#isAllowed(historyOwnerField, row);
  }

  #isAllowed(ownerField: string | null, row: Row): boolean {
    return ownerField === null || row[ownerField] === this.metadata.me.user.id;
  }
}

/** The actions that can be run on several rows: a secret in the answer is shown for one row only. */
export const actionsOfRows = ({ actions }: Entity): EntityAction[] =>
  actions.filter(({ argument, secretField }) => argument !== null && secretField === null);

export function fieldOf(entity: Pick<Entity, "fields">, name: string): EntityField | undefined {
  return entity.fields.find((field) => field.name === name);
}

/**
 * The columns of a list when the user has not chosen any: those with a place, among the first `most` of those whose place
 * is free. A currency has no column if an amount shows it.
 */
export function defaultColumns(
  entity: Pick<Entity, "fields" | "nameField">,
  most = 8,
): EntityField[] {
  const shown = entity.fields.filter((field) => field.place !== 0 && isColumn(field));
  const placed = shown
    .filter((field) => field.place !== null)
    .toSorted((a, b) => (a.place ?? 0) - (b.place ?? 0));
  const free = shown.filter((field) => field.place === null);
  const name = free.filter((field) => field.name === entity.nameField);
  const others = free.filter((field) => field.name !== entity.nameField);
  const rest = withoutCurrencies([...name, ...others], entity.nameField).slice(0, most);
  const columns: EntityField[] = [];
  for (const field of placed)
    columns.push(...rest.splice(0, (field.place ?? 0) - 1 - columns.length), field);
  return withoutCurrencies([...columns, ...rest], entity.nameField);
}

/** The columns without the currencies that amounts among them show; the name of the rows stays. */
function withoutCurrencies(columns: readonly EntityField[], nameField: string): EntityField[] {
  const shown = new Set(columns.map(({ currencyField }) => currencyField));
  return columns.filter(({ name }) => name === nameField || !shown.has(name));
}

/** Whether the field fits into one line of a list. */
export function isColumn(field: EntityField): boolean {
  return field.kind !== "JSON" && (!field.isInputOnly || field.reference !== null);
}

/** The query that finds every row, by a field that is never empty; null where there is none. */
export function allRowsQuery({ keyField, fields }: Entity): string | null {
  const field =
    keyField ?? fields.find((one) => !one.isNullable && one.searchName !== null)?.searchName;
  return field == null ? null : `${field}:*`;
}
