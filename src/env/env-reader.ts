import { readFileSync } from "node:fs";
import { HoldfastError } from "../task/fault.ts";
import { closest } from "../task/option-names.ts";
import { fileNameOf, nameOf, prefix, type Variable } from "./variable.ts";

/** Environment variables by their names, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads variables, and collects the mistakes in them. */
export class EnvReader {
  readonly #env: Environment;
  readonly #known: ReadonlySet<string>;
  readonly #problems: string[] = [];

  /** Never throws. Reports a variable with our prefix that is not in `known`, because it may be a typo. */
  constructor(env: Environment, known: ReadonlySet<string>) {
    this.#env = env;
    this.#known = known;
    const names = [...known].map((name) => name.slice(prefix.length));
    for (const [name, text] of Object.entries(env)) {
      if (!name.startsWith(prefix) || known.has(name) || text === undefined || text === "") continue;
      const meant = closest(name.slice(prefix.length), names);
      const hint = meant === undefined ? "" : ` Did you mean ${prefix}${meant}?`;
      this.#problems.push(`${name} is not a variable of Holdfast.${hint}`);
    }
  }

  /** The value of a variable; undefined if it is unset, empty or invalid. */
  read<T>(variable: Variable<T>): T | undefined {
    const text = this.#textOf(variable);
    if (text === undefined) return undefined;
    const value = variable.kind.read(text);
    if (value === undefined) this.refuse(variable, text);
    return value;
  }

  /** Reports that a variable does not accept `text`. */
  refuse({ name, kind, isSecret }: Variable<unknown>, text: string): void {
    const takes = kind.takes.replaceAll("`", '"');
    const written = kind.written === undefined ? "" : ` (${kind.written})`;
    // Secrets must not reach a log, and long values are not helpful.
    const given = isSecret
      ? ""
      : `, not ${JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)}`;
    this.#problems.push(`${name} takes ${takes}${written}${given}.`);
  }

  /** Reports that options were refused, by the names of their variables. */
  found({ message }: HoldfastError): void {
    this.#problems.push(message.replace(/\b[a-z]+(?:[A-Z][a-z]+)+\b/g, (word) => this.#nameIn(word)));
  }

  /** Reports that a variable's value was refused. */
  foundIn({ name }: Variable<unknown>, { message }: HoldfastError): void {
    this.#problems.push(`${name}: ${message}`);
  }

  /** All mistakes as one error; undefined if there are none. */
  fault(): HoldfastError | undefined {
    const [first, ...others] = this.#problems;
    if (first === undefined) return undefined;
    const message =
      others.length === 0
        ? first
        : `${this.#problems.length} environment variables are wrong:\n${this.#problems.join("\n")}`;
    return new HoldfastError("configuration", message);
  }

  #nameIn(word: string): string {
    const ofStores = ["sqlite", "postgres"].map((store) => nameOf(`${store}_${word}`));
    return [nameOf(word), ...ofStores].find((name) => this.#known.has(name)) ?? word;
  }

  #textOf(variable: Variable<unknown>): string | undefined {
    if (!variable.isSecret) return this.#set(variable.name);
    const text = this.#notEmpty(variable.name);
    const fileName = fileNameOf(variable);
    const path = this.#notEmpty(fileName);
    if (path === undefined) return text;
    if (text === undefined) return this.#readFile(fileName, path);
    this.#problems.push(`${variable.name} and ${fileName} are both set: leave one of them out.`);
    return undefined;
  }

  #readFile(name: string, path: string): string | undefined {
    try {
      const text = readFileSync(path, "utf8").trim();
      if (text !== "") return text;
      this.#problems.push(`${name} names ${path}, which is empty.`);
    } catch (error) {
      const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
      this.#problems.push(`${name} names ${path}, which cannot be read${code}.`);
    }
    return undefined;
  }

  /** A secret that was not passed in must not look like one that is not set. */
  #notEmpty(name: string): string | undefined {
    const text = this.#set(name);
    if (text === undefined && this.#env[name] !== undefined)
      this.#problems.push(`${name} is set but empty: give it a value, or unset it.`);
    return text;
  }

  #set(name: string): string | undefined {
    const text = this.#env[name]?.trim();
    return text === "" ? undefined : text;
  }
}

type Values<Group> = {
  readonly [Name in keyof Group]?: Group[Name] extends Variable<infer T> ? T : never;
};

/** The values of the variables that are set, by their option names. */
export function readAll<Group extends Readonly<Record<string, Variable<unknown>>>>(
  reader: EnvReader,
  group: Group,
): Values<Group> {
  const values = Object.entries(group).map(([option, variable]) => [option, reader.read(variable)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as Values<Group>;
}
