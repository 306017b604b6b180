import { HoldfastError } from "../../task/fault.ts";
import type { TaskStanding } from "../admin.ts";
import { standings } from "../assert-query.ts";

/** The parameters of a URL. Throws `invalid_params` for one that is not `known`, instead of ignoring it. */
export class Query {
  readonly #search: URLSearchParams;

  constructor(search: URLSearchParams, known: readonly string[]) {
    for (const name of search.keys())
      if (!known.includes(name))
        throw invalid(`There is no parameter ${JSON.stringify(name)}. ${knownAre(known)}`);
    this.#search = search;
  }

  text(name: string): string | undefined {
    const [value, ...others] = this.#search.getAll(name);
    if (others.length > 0) throw invalid(`The parameter ${name} is given more than once.`);
    return value;
  }

  number(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    if (!/^\d{1,15}$/.test(value)) throw invalid(`The parameter ${name} is a whole number.`);
    return Number(value);
  }

  boolean(name: string): boolean | undefined {
    const value = this.text(name);
    if (value !== undefined && value !== "true" && value !== "false")
      throw invalid(`The parameter ${name} is true or false.`);
    return value === undefined ? undefined : value === "true";
  }

  /** For a parameter that can be repeated. */
  standings(name: string): readonly TaskStanding[] | undefined {
    return this.#search.has(name) ? this.#search.getAll(name).map(standing) : undefined;
  }
}

export function standing(value: unknown): TaskStanding {
  const found = standings.find((each) => each === value);
  if (found === undefined)
    throw invalid(`There is no state ${JSON.stringify(value)}. There are ${standings.join(", ")}.`);
  return found;
}

function knownAre(known: readonly string[]): string {
  return known.length === 0 ? "None is taken here." : `There are ${known.join(", ")}.`;
}

function invalid(problem: string): HoldfastError {
  return new HoldfastError("invalid_params", problem);
}
