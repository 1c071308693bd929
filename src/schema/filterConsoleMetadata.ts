import { type Guard, passesGuard, permissionKeys } from "../auth/guards.ts";
import type {
  ConsoleAction,
  ConsoleEntity,
  ConsoleMutation,
  ConsoleReport,
  Verb,
} from "./consoleEntity.ts";
import type { EntityField } from "./entityDescription.ts";
import { listWidget } from "./labels.ts";

type Caller = Parameters<typeof passesGuard>[1];

/** The part of the metadata that the caller may use. */
export function filterConsoleMetadata(
  { entities, reports }: { entities: readonly ConsoleEntity[]; reports: readonly ConsoleReport[] },
  caller: Caller,
) {
  const allowed = entities.filter(({ guard }) => passesGuard(guard, caller));
  const lists = new Set(
    allowed.flatMap(({ name, listField }) => (listField === null ? [] : [name])),
  );
  const open = allowed
    .map((entity) => ({
      ...entity,
      parents: entity.parents.filter((parent) => lists.has(parent.entity)),
    }))
    // Rows below a table that the caller may not read cannot be reached.
    .filter(({ listField, parents }) => listField !== null || parents.length > 0);
  const names = new Set(open.map(({ name }) => name));
  const users = entities.find(({ typeName }) => typeName === "User");
  /** Names of rows that the caller may not read are typed. */
  const typedNames = <F extends EntityField>(field: F): F => {
    const { isList, reference } = field;
    const isTyped = isList && reference?.field === null && !names.has(reference.entity);
    return isTyped ? { ...field, kind: "TEXT", reference: null } : field;
  };
  const permittedActions = (actions: readonly ConsoleAction[]) =>
    actions
      .filter(({ guard }) => passesGuard(guard, caller))
      .map(({ guard: _guard, ...action }) => ({
        ...action,
        arguments: action.arguments.map((argument) => ({
          ...argument,
          fields: argument.fields.map(typedNames),
        })),
      }));
  /** A list from which a new row needs a choice, and which the caller may not read. A user can be the caller. */
  const closedChoice = ({ fields }: ConsoleEntity) => {
    const field = fields.find(
      ({ onCreate, reference }) =>
        onCreate === "REQUIRED" &&
        reference !== null &&
        reference.entity !== users?.name &&
        !names.has(reference.entity),
    );
    return entities.find(({ name }) => name === field?.reference?.entity);
  };
  const describe = (described: ConsoleEntity) => {
    const {
      guard: _guard,
      historyGuard,
      hasOwnRows,
      ownerField,
      mutations,
      actions,
      relations,
      ...entity
    } = described;
    const readsAllHistory =
      passesGuard(historyGuard, caller) || passesGuard(["audit.read"], caller);
    const choice = closedChoice(described);
    const permittedMutation = (verb: Verb) =>
      verb === "create" && choice ? null : mutationIfPermitted(mutations[verb], caller);
    return {
      ...entity,
      hasHistory: entity.hasHistory && (readsAllHistory || hasOwnRows),
      historyOwnerField: readsAllHistory ? null : ownerField,
      canCreate: permittedMutation("create"),
      canUpdate: permittedMutation("update"),
      canDelete: permittedMutation("delete"),
      missing: missingPermissions(mutations, caller, choice),
      fields: entity.fields
        .filter(({ guard, isInputOnly, reference }) => {
          // The caller can only choose among rows that the caller may read.
          const isListOfRows = isInputOnly && reference !== null;
          return (
            !isListOfRows || (names.has(reference.entity) && (!guard || passesGuard(guard, caller)))
          );
        })
        .map(({ guard: _fieldGuard, ...field }) => ({
          ...typedNames(field),
          values:
            field.widget === listWidget
              ? field.values.filter(({ value }) => lists.has(value))
              : field.values,
          onCreate: permittedMutation("create") ? field.onCreate : "NO",
          onUpdate: permittedMutation("update") ? field.onUpdate : "NO",
        })),
      relations: relations.filter((relation) => names.has(relation.entity)),
      actions: permittedActions(actions),
    };
  };
  const isOpen = ({ guard, entity }: ConsoleReport) =>
    passesGuard(guard, caller) && (entity === null || names.has(entity));
  const hasProfile = users !== undefined && passesGuard("session", caller);
  return {
    entities: open.map(describe),
    profile: hasProfile ? profileOf(describe(users)) : null,
    closedEntities: entities
      .filter(({ guard }) => !passesGuard(guard, caller))
      .map(({ name, title, guard }) => ({ name, title, permission: firstPermission(guard) })),
    reports: reports.filter(isOpen).map(({ guard: _guard, ...report }) => ({
      ...report,
      actions: permittedActions(report.actions),
    })),
    closedReports: reports
      .filter((report) => !isOpen(report))
      .map(({ field, title, guard, entity }) => ({
        name: field,
        title,
        permission: firstPermission(
          passesGuard(guard, caller)
            ? (entities.find(({ name }) => name === entity)?.guard ?? guard)
            : guard,
        ),
      })),
  };
}

/**
 * The table as a form for the row of the caller. The references of the row, such as the department, are only shown: they
 * give permissions or show other rows, so that users cannot change their own.
 */
function profileOf<
  E extends Omit<
    ConsoleEntity,
    "guard" | "historyGuard" | "hasOwnRows" | "ownerField" | "mutations" | "actions"
  >,
>(users: E) {
  return {
    ...users,
    listField: null,
    pagesField: null,
    recordField: null,
    canCreate: null,
    canDelete: null,
    hasHistory: false,
    relations: [],
    actions: [],
    fields: users.fields
      .filter(({ isInputOnly }) => !isInputOnly)
      .map((field) => (field.reference ? { ...field, onUpdate: "NO" as const } : field)),
  };
}

function mutationIfPermitted(mutation: ConsoleMutation | null, caller: Caller) {
  if (!mutation || !passesGuard(mutation.guard, caller)) return null;
  const { guard: _guard, description: _description, ...offered } = mutation;
  return offered;
}

/** @param choice the list without which no row can be created */
function missingPermissions(
  mutations: ConsoleEntity["mutations"],
  caller: Caller,
  choice: ConsoleEntity | undefined,
) {
  return (["create", "update", "delete"] as const).flatMap((verb) => {
    const mutation = mutations[verb];
    if (!mutation) return [];
    const { guard, description } = mutation;
    const missing = passesGuard(guard, caller) ? verb === "create" && choice?.guard : guard;
    return missing ? [{ verb, permission: firstPermission(missing), description }] : [];
  });
}

/** The first permission that a guard requires; null if it requires a login only. */
function firstPermission(guard: Guard): string | null {
  return typeof guard === "string" ? null : (permissionKeys(guard)[0] ?? null);
}
