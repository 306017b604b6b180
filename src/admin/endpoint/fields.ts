import { HoldfastError } from "../../task/fault.ts";

/** The members of an object in a request's body. Throws `invalid_params` unless it is an object with only `known` members. */
export class Fields {
  readonly #fields: ReadonlyMap<string, unknown>;
  readonly #where: string;

  constructor(value: unknown, known: readonly string[], where = "The body") {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw invalid(`${where} must be a JSON object.`);
    this.#fields = new Map(Object.entries(value));
    this.#where = where;
    for (const name of this.#fields.keys())
      if (!known.includes(name)) throw invalid(`${where} must not contain ${JSON.stringify(name)}.`);
  }

  has(name: string): boolean {
    return this.#fields.has(name);
  }

  value(name: string): unknown {
    return this.#fields.get(name);
  }

  text(name: string): string | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === "string") return value;
    throw invalid(`${this.#where}: ${name} must be a string.`);
  }

  textOrNull(name: string): string | null | undefined {
    return this.value(name) === null ? null : this.text(name);
  }

  number(name: string): number | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === "number") return value;
    throw invalid(`${this.#where}: ${name} must be a number.`);
  }

  numberOrNull(name: string): number | null | undefined {
    return this.value(name) === null ? null : this.number(name);
  }

  boolean(name: string): boolean | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === "boolean") return value;
    throw invalid(`${this.#where}: ${name} must be true or false.`);
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.value(name);
    if (value === undefined || Array.isArray(value)) return value;
    throw invalid(`${this.#where}: ${name} must be a list.`);
  }

  /** Throws if the member is missing. */
  needed<T>(name: string, value: T | undefined): T {
    if (value !== undefined) return value;
    throw invalid(`${this.#where} must contain ${name}.`);
  }
}

function invalid(problem: string): HoldfastError {
  return new HoldfastError("invalid_params", problem);
}
