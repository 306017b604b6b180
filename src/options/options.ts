import { HoldfastError } from "../task/fault.ts";
import type { TimeSpan, TimeSpanText } from "../task/time.ts";
import { namesProblem } from "../task/option-names.ts";
import {
  choiceKind,
  choicesKind,
  flagKind,
  listKind,
  numberKind,
  orKind,
  textKind,
  valueKind,
  type Kind,
  type Range,
} from "./kind.ts";

// An option is declared once, as a member of a class:
//
//   class DeclaredSqliteStoreOptions {
//     /** Maximum size of the database file. Default: no limit. */
//     readonly maxBytes?: number = size({ min: 1, variable: "HOLDFAST_SQLITE_MAX_BYTES" });
//   }
//
//   export interface SqliteStoreOptions extends DeclaredSqliteStoreOptions {}
//
//   export const sqliteStoreOptions = tableOf<SqliteStoreOptions>(DeclaredSqliteStoreOptions);
//
// Callers see an interface, with the type and the comment of each member: editors show the comments of members, and not all show those of
// mapped types. What a member is set to, its row, only `tableOf` looks at. Checks, defaults, variables and the tables of the guides come
// from it. No caller gets an instance of such a class.

/** One option. */
export interface Row {
  readonly kind: Kind;
  /** Undefined: none. */
  readonly default: unknown;
  readonly isRequired: boolean;
  /** The environment variable that sets it, if there is one. */
  readonly variable: string | undefined;
  /** A secret appears in no message, and can be in the file that the variable NAME_FILE names. */
  readonly isSecret: boolean;
  /** The options in it. */
  readonly table: Table<object> | undefined;
}

/** The options of `Options` by their names. */
export interface Table<Options extends object> {
  readonly rows: ReadonlyMap<string, Row>;
  /** Only for the compiler. */
  readonly "~options"?: Options;
}

interface Rest<T> {
  readonly default?: T;
  readonly required?: true;
  readonly variable?: `HOLDFAST_${string}`;
  readonly secret?: true;
}

interface OrNull {
  /** Whether `null` is accepted too, for no limit. */
  readonly orNull?: true;
}

type NullIn<Spec> = Spec extends { readonly orNull: true } ? null : never;

type NumberSpec = Range & OrNull & Rest<number | null>;

/** A number; whole unless `fractions` are accepted. */
export function number<const Spec extends NumberSpec>(spec: Spec): number | NullIn<Spec> {
  return row(numberKind("number", spec), spec);
}

/** A length of time, in milliseconds or such as `"3d"`; `settingsOf` has milliseconds. */
export function time<const Spec extends NumberSpec>(spec: Spec): TimeSpan | NullIn<Spec> {
  return row(numberKind("time", spec), spec);
}

/** A size in bytes. */
export function size<const Spec extends NumberSpec>(spec: Spec): number | NullIn<Spec> {
  return row(numberKind("size", spec), spec);
}

export function flag(spec: Rest<boolean> = {}): boolean {
  return row(flagKind, spec);
}

/** A text that `isOne` accepts; `words` say what that is. */
export function text<const Spec extends OrNull & Rest<string>>(
  words: string,
  isOne: (given: string) => boolean,
  spec: Spec,
): string | NullIn<Spec> {
  return row(textKind(words, isOne), spec);
}

/** One of several words. */
export function choice<const Choice extends string>(
  all: readonly Choice[],
  spec: Rest<NoInfer<Choice>> = {},
): Choice {
  return row(choiceKind(all), spec);
}

/** One or more of several words. */
export function choices<const Choice extends string>(
  all: readonly Choice[],
  spec: Rest<readonly NoInfer<Choice>[]> = {},
): readonly Choice[] {
  return row(choicesKind(all), spec);
}

/** A list of texts that `isOne` accepts. `words` names several of them. */
export function list<Item extends string>(
  words: string,
  isOne: (given: string) => boolean,
  spec: Rest<readonly Item[]> = {},
): readonly Item[] {
  return row(listKind(words, textKind("", isOne)), spec);
}

/** The same, or `"any"`. */
export function listOrAny(
  words: string,
  isOne: (given: string) => boolean,
  spec: Rest<readonly string[] | "any"> = {},
): readonly string[] | "any" {
  return row(orKind(listKind(words, textKind("", isOne)), "any"), spec);
}

/** A function or an object, which only code can give. `words` say what it must be. */
export function value<T>(words: string, accepts: (given: unknown) => boolean, spec: Rest<T> = {}): T {
  return row(valueKind(words, accepts), spec);
}

export const isFunction = (given: unknown): boolean => typeof given === "function";

export const isObject = (given: unknown): boolean =>
  typeof given === "object" && given !== null && !Array.isArray(given);

/** A function. */
export function callback<T>(spec: Rest<T> = {}): T {
  return value("a function", isFunction, spec);
}

/** An object of options, which are declared too. */
export function options<T extends object>(table: Table<T>, spec: Rest<T> = {}): T {
  return row(valueKind("an object of options", isObject), spec, table);
}

/** Of any kind. The row stands in the member whose type is that of its value; only `tableOf` sees it. */
export function row(kind: Kind, spec: OrNull & Rest<unknown>, table?: Table<object>): never {
  const made: Row = {
    kind: spec.orNull ? orKind(kind, null, "none") : kind,
    default: spec.default,
    isRequired: spec.required ?? false,
    variable: spec.variable,
    isSecret: spec.secret ?? false,
    table,
  };
  return made as never;
}

/** The options that a class declares. */
export function tableOf<Options extends object>(declared: new () => Options): Table<Options> {
  return { rows: new Map(Object.entries(new declared())) };
}

/** The options of both; of those with the same name, the second's. */
export function joined<A extends object, B extends object>(first: Table<A>, second: Table<B>): Table<A & B> {
  return { rows: new Map([...first.rows, ...second.rows]) };
}

/** The options with those of its defaults that are not given. Lengths of time are in milliseconds. */
export type Settings<Options, WithoutDefault extends keyof Options = never> = {
  readonly [Name in Exclude<keyof Options, WithoutDefault>]-?: Exclude<
    Options[Name],
    undefined | TimeSpanText
  >;
} & { readonly [Name in WithoutDefault]?: Exclude<Options[Name], TimeSpanText> | undefined };

const same = (given: unknown): unknown => given;

/** Options as code works with them: lengths of time are in milliseconds. */
export type Read<Options> = { readonly [Name in keyof Options]: Exclude<Options[Name], TimeSpanText> };

/** What is given, as code works with it, without defaults. */
export function readOptions<Options extends object, Given extends Options>(
  { rows }: Table<Options>,
  given: Given,
): Read<Given> {
  const read = Object.entries(given).map(([name, set]: [string, unknown]) => {
    return [name, set === undefined ? set : (rows.get(name)?.kind.read ?? same)(set)] as const;
  });
  return Object.fromEntries(read) as Read<Given>;
}

/** What is given of a table, with its defaults, as code works with it. Members that are not in the table are left out. */
export function settingsOf<Options extends object, WithoutDefault extends keyof Options = never>(
  table: Table<Options>,
  given: Partial<Options>,
): Settings<Options, WithoutDefault> {
  const values = given as Readonly<Record<string, unknown>>;
  const found = [...table.rows].map(([name, each]) => {
    const set = values[name];
    const { read = same } = each.kind;
    return [name, set === undefined ? each.default : read(set)] as const;
  });
  return Object.fromEntries(found) as Settings<Options, WithoutDefault>;
}

/** Those of the members `names` that are set. */
export function definedOf<T extends object, Name extends keyof T>(
  given: T,
  names: readonly Name[],
): { [Each in Name]?: Exclude<T[Each], undefined> } {
  const found = names.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]] as const]));
  return Object.fromEntries(found) as { [Each in Name]?: Exclude<T[Each], undefined> };
}

/** Throws `configuration` for options that are wrong. `what` takes them, such as `createTasks`. */
export function assertOptions<Options extends object>(
  what: string,
  given: unknown,
  table: Table<Options>,
): asserts given is Options {
  const problem = optionProblem(what, given, table);
  if (problem !== undefined) throw new HoldfastError("configuration", problem);
}

/** What is wrong with options, as a sentence; undefined if nothing is. JavaScript callers can pass anything. */
export function optionProblem(what: string, given: unknown, table: Table<object>): string | undefined {
  return problemIn({ what, owner: what, prefix: "" }, given, table);
}

interface Place {
  /** Who takes the options. */
  readonly what: string;
  /** Whose options these are. */
  readonly owner: string;
  /** Before the name of each. */
  readonly prefix: string;
}

function problemIn(
  { what, owner, prefix }: Place,
  given: unknown,
  { rows }: Table<object>,
): string | undefined {
  const misnamed = namesProblem(owner, given, [...rows.keys()]);
  if (misnamed !== undefined) return misnamed;
  const values = given as Readonly<Record<string, unknown>>;
  for (const [name, { kind, isRequired, isSecret, table }] of rows) {
    const path = `${prefix}${name}`;
    const found = values[name];
    if (found === undefined) {
      if (isRequired) return `${what} needs ${path}: ${inMessage(kind.words)}.`;
      continue;
    }
    const problem =
      table !== undefined
        ? problemIn({ what, owner: path, prefix: `${path}.` }, found, table)
        : kind.accepts(found)
          ? undefined
          : `${what}: ${path} ${mustBe(kind, "inCode", isSecret ? undefined : shown(found))}`;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The end of a sentence about a wrong value, the same for an option and for its variable. `given` is left out of a secret's. */
export function mustBe(kind: Kind, door: "inCode" | "inText", given: string | undefined): string {
  const how = kind[door] === undefined ? "" : `, ${kind[door]}`;
  const other = kind.or === undefined ? "" : `, or ${kind.or[door]}`;
  return `must be ${inMessage(`${kind.words}${how}${other}`)}${given === undefined ? "" : `, not ${given}`}.`;
}

/** Messages are read where backticks mean nothing. */
function inMessage(words: string): string {
  return words.replace(/`(.*?)`/g, (_, code: string) =>
    /^(?:null|true|false|Infinity|".*")$/.test(code) ? code : `"${code}"`,
  );
}

/** A wrong value, for a message. */
export function shown(given: unknown): string {
  if (typeof given === "function") return "a function";
  if (isObject(given)) return "an object";
  const written = typeof given === "string" || Array.isArray(given) ? asJson(given) : String(given);
  return written.length > 80 ? `${written.slice(0, 80)}…` : written;
}

function asJson(given: string | readonly unknown[]): string {
  try {
    return JSON.stringify(given);
  } catch {
    return "an array"; // with a bigint or a cycle in it
  }
}
