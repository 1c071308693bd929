import {
  type GraphQLField,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
} from "graphql";
import { referenceOfArgument, type Named } from "./consoleReferences.ts";
import type { EntityField, EntityReference, FieldUse } from "./entityDescription.ts";
import { type Input, boundsOf, kindOf, typeProperties } from "./fieldProperties.ts";
import { titleOf } from "./rowNames.ts";

/** An input without a column. */
export function describeInput(input: Input, reference: EntityReference | null): EntityField {
  return {
    ...typeProperties(input, undefined),
    unit: null,
    unitOne: null,
    ...(isInputObjectType(getNamedType(input.type)) ? { isList: false } : {}),
    name: input.name,
    title: titleOf(reference?.field ?? (reference ? input.name.replace(/Id$/, "") : input.name)),
    kind: reference ? ("REFERENCE" as const) : kindOf(input.type),
    reference,
    isInputOnly: true,
    maxLength: null,
    ...boundsOf(input.type),
    defaultValue: null,
    onCreate: "NO",
    onUpdate: "NO",
    orderBy: [],
    searchName: null,
    place: reference ? null : 0,
  };
}

/** An argument of an action, or a field of its input object, which no field of the row describes. */
export function fieldOfInput(build: GraphileBuild.Build, input: Input, listed: Named): EntityField {
  const isList = isListType(getNullableType(input.type));
  return describeInput(input, isList ? null : referenceOfArgument(build, input.name, listed));
}

export function useOf(input: Input | undefined): FieldUse {
  if (!input) return "NO";
  return isNonNullType(input.type) && input.defaultValue === undefined ? "REQUIRED" : "OPTIONAL";
}

/** The values of the list's argument `orderBy`. */
export function orderValues(field: GraphQLField<unknown, unknown> | undefined): string[] {
  const type = field?.args.find(({ name }) => name === "orderBy")?.type;
  const named = type && getNamedType(type);
  return isEnumType(named) ? named.getValues().map(({ name }) => name) : [];
}
