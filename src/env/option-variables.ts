import type { EnvReader } from "./env-reader.ts";
import { shownNumber, type Kind, type Unit } from "./kind.ts";
import { variable, type Variable } from "./variable.ts";

export type NumberRow = readonly [unit: Unit, meaning: string];

/** The variable of an option. */
export interface OptionVariable<Option extends string, T> extends Variable<T> {
  readonly option: Option;
}

interface Rules<Option extends string, T> {
  readonly kindOf: (option: Option, unit: Unit) => Kind<T>;
  readonly defaults: { readonly [Each in Option]: number | null | undefined };
}

/** A variable for each option of a table. */
export function optionVariables<Option extends string, T>(
  rows: Readonly<Record<Option, NumberRow>>,
  { kindOf, defaults }: Rules<Option, T>,
): readonly OptionVariable<Option, T>[] {
  return keysOf(rows).map((option) => {
    const [unit, meaning] = rows[option];
    const described = { meaning, default: shownNumber(unit, defaults[option]) };
    return { ...variable(option, kindOf(option, unit), described), option };
  });
}

/** The options that an environment sets. */
export function readOptions<Option extends string, T>(
  reader: EnvReader,
  variables: readonly OptionVariable<Option, T>[],
): { readonly [Each in Option]?: T } {
  const found: { [Each in Option]?: T } = {};
  for (const each of variables) {
    const value = reader.read(each);
    if (value !== undefined) found[each.option] = value;
  }
  return found;
}

/** The keys of a table that has no other members than its type says. */
function keysOf<Key extends string>(table: Readonly<Record<Key, unknown>>): Key[] {
  return Object.keys(table) as Key[];
}
