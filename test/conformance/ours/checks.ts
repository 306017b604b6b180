import type { ConformanceCheck, SpecReference } from "./types.ts";

/** What a check is about. Its status follows the keyword of the text: MUST fails, SHOULD warns. */
export interface Requirement {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly keyword: "MUST" | "SHOULD";
}

/** Thrown by a check that does not apply, such as to what the server may leave out. */
export class NotApplicable extends Error {}

/** The checks of one run, in the order in which they were made. */
export class Checks {
  readonly all: ConformanceCheck[] = [];
  readonly #specReferences: SpecReference[];

  constructor(...specReferences: SpecReference[]) {
    this.#specReferences = specReferences;
  }

  /** Adds a check, which fails with what `find` finds wrong or throws. */
  async add(
    requirement: Requirement,
    find: () => Promise<readonly string[]> | readonly string[],
  ): Promise<void> {
    const { id, name, description, keyword } = requirement;
    const common = {
      id,
      name,
      description,
      timestamp: new Date().toISOString(),
      specReferences: this.#specReferences,
    };
    try {
      const wrong = await find();
      if (wrong.length === 0) this.all.push({ ...common, status: "SUCCESS" });
      else this.all.push({ ...common, status: failing(keyword), errorMessage: wrong.join("; ") });
    } catch (error) {
      const status = error instanceof NotApplicable ? "SKIPPED" : failing(keyword);
      this.all.push({
        ...common,
        status,
        errorMessage: error instanceof Error ? error.message : String(error),
      });
    }
  }
}

function failing(keyword: Requirement["keyword"]): "FAILURE" | "WARNING" {
  return keyword === "MUST" ? "FAILURE" : "WARNING";
}

/** What is wrong with a value, one line for each thing. */
export function expectEqual(what: string, found: unknown, wanted: unknown): string[] {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  return a === b ? [] : [`${what} is ${a}, not ${b}`];
}

/** Calls `look` every 100 ms until it returns something, for at most ten seconds. */
export async function until<Value>(
  what: string,
  look: () => Value | undefined | Promise<Value | undefined>,
): Promise<Value> {
  for (let looks = 0; looks < 100; looks++) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`Within ten seconds: ${what}`);
}
