import { HoldfastError } from "../../task/fault.ts";
import type { AdminTaskState } from "../admin.ts";
import { adminTaskStates } from "../assert-query.ts";

/** The parameters of a URL. Throws `invalid_params` for one that is not `known`, instead of ignoring it. */
export class Query {
  readonly #search: URLSearchParams;

  constructor(search: URLSearchParams, known: readonly string[]) {
    for (const name of search.keys())
      if (!known.includes(name))
        throw invalid(`There is no parameter ${JSON.stringify(name)}. ${describeKnown(known)}`);
    this.#search = search;
  }

  text(name: string): string | undefined {
    const [value, ...others] = this.#search.getAll(name);
    if (others.length > 0) throw invalid(`The parameter ${name} must not be repeated.`);
    return value;
  }

  number(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    if (!/^\d{1,15}$/.test(value)) throw invalid(`The parameter ${name} must be a whole number.`);
    return Number(value);
  }

  boolean(name: string): boolean | undefined {
    const value = this.text(name);
    if (value !== undefined && value !== "true" && value !== "false")
      throw invalid(`The parameter ${name} must be true or false.`);
    return value === undefined ? undefined : value === "true";
  }

  /** For a parameter that can be repeated. */
  states(name: string): readonly AdminTaskState[] | undefined {
    return this.#search.has(name) ? this.#search.getAll(name).map(stateNamed) : undefined;
  }
}

export function stateNamed(value: unknown): AdminTaskState {
  const found = adminTaskStates.find((each) => each === value);
  if (found === undefined)
    throw invalid(
      `There is no state ${JSON.stringify(value)}. The states are ${adminTaskStates.join(", ")}.`,
    );
  return found;
}

function describeKnown(known: readonly string[]): string {
  return known.length === 0 ? "This operation has none." : `The parameters are ${known.join(", ")}.`;
}

function invalid(problem: string): HoldfastError {
  return new HoldfastError("invalid_params", problem);
}
