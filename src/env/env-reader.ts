import { readFileSync } from "node:fs";
import { HoldfastError } from "../task/fault.ts";
import { mustBe, shown, type Row, type Table } from "../options/options.ts";
import { didYouMean } from "../task/option-names.ts";
import { prefix } from "../options/command-variables.ts";
import { fileNameOf, knownNames, serverVariables } from "./variables.ts";

/** Environment variables by their names, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads variables, and collects the mistakes in them. */
export class EnvReader {
  readonly #env: Environment;
  readonly #problems = new Set<string>();

  /** Reports a variable with our prefix that is unknown, because it may be a typo. */
  constructor(env: Environment) {
    this.#env = env;
    const names = [...knownNames].map((name) => name.slice(prefix.length));
    for (const [name, text] of Object.entries(env)) {
      if (!name.startsWith(prefix) || knownNames.has(name) || text === undefined || text === "") continue;
      const hint = didYouMean(name.slice(prefix.length), names, prefix);
      this.#problems.add(`Holdfast has no variable ${name}.${hint}`);
    }
  }

  /** The options of a table that the environment sets, but for those that are invalid. */
  read<Options extends object>({ rows }: Table<Options>): Partial<Options> {
    const values = [...rows].map(([option, each]) => [option, this.#valueOf(each)] as const);
    return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as Partial<Options>;
  }

  /** Reports options that do not fit together, by the names of their variables. */
  found({ message }: HoldfastError, { rows }: Table<object>): void {
    this.#problems.add(
      message.replace(/^\w+|\b[a-z]+(?:[A-Z][a-z]+)+\b/g, (word) => rows.get(word)?.variable ?? word),
    );
  }

  /** Reports what is wrong with the value of a variable. */
  foundIn(name: string, problem: string): void {
    this.#problems.add(`${name}: ${problem}`);
  }

  /** Reports that a variable does not accept its value. */
  refuse(variable: string, given: string): void {
    const row = serverVariables.get(variable);
    if (row === undefined) throw new Error(`There is no variable ${variable}.`);
    this.#problems.add(`${variable} ${mustBe(row.kind, "inText", row.isSecret ? undefined : shown(given))}`);
  }

  /** Throws `configuration` with all mistakes, if there are any. */
  assertNothingFound(): void {
    const problems = [...this.#problems];
    if (problems.length === 0) return;
    const heading = problems.length > 1 ? [`${problems.length} environment variables are wrong:`] : [];
    throw new HoldfastError("configuration", [...heading, ...problems].join("\n"));
  }

  #valueOf({ variable, kind, isSecret }: Row): unknown {
    if (variable === undefined) return undefined;
    const text = isSecret ? this.#secretOf(variable) : this.#set(variable);
    if (text === undefined) return undefined;
    const value = kind.parse?.(text);
    if (kind.accepts(value)) return value;
    this.refuse(variable, text);
    return undefined;
  }

  #secretOf(name: string): string | undefined {
    const text = this.#notEmpty(name);
    const fileName = fileNameOf(name);
    const path = this.#notEmpty(fileName);
    if (path === undefined) return text;
    if (text === undefined) return this.#readFile(fileName, path);
    this.#problems.add(`${name} and ${fileName} are both set. Leave one of them out.`);
    return undefined;
  }

  #readFile(name: string, path: string): string | undefined {
    try {
      const text = readFileSync(path, "utf8").trim();
      if (text !== "") return text;
      this.#problems.add(`${name} names ${path}, which is empty.`);
    } catch (error) {
      const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
      this.#problems.add(`${name} names ${path}, which cannot be read${code}.`);
    }
    return undefined;
  }

  /** A secret that was not passed in must not look like one that is not set. */
  #notEmpty(name: string): string | undefined {
    const text = this.#set(name);
    if (text === undefined && this.#env[name] !== undefined)
      this.#problems.add(`${name} is set but empty: set it to a value, or unset it.`);
    return text;
  }

  #set(name: string): string | undefined {
    const text = this.#env[name]?.trim();
    return text === "" ? undefined : text;
  }
}
