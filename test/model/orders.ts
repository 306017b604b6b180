import { isDeepStrictEqual } from "node:util";
import { applyAll } from "./model-groups.ts";
import { end } from "./model-owners.ts";
import type { Answer, Model } from "./model-state.ts";
import type { StoreCommand } from "./model.ts";

/** A group that a process was asked for, at moments that are counted for all processes together. */
export interface Asked {
  readonly by: string;
  readonly commands: readonly StoreCommand[];
  readonly from: number;
  /** Undefined where it was killed before. */
  readonly answers: readonly Answer[] | undefined;
  /** When the answer came; Infinity where none did. */
  readonly until: number;
}

/** When a process was killed, and when it was known to be gone. */
export interface Death {
  readonly by: string;
  readonly from: number;
  readonly until: number;
}

type Span = Pick<Asked, "from" | "until">;

/**
 * What a store may hold after one process was killed while another one wrote: all that was answered, and of what was not, what
 * the killed one was asked for up to some group. Each group is there whole, and what was answered before something was asked
 * for comes before it. Nothing where no order explains the answers.
 */
export function afterDeath(
  starts: readonly Model[],
  dying: readonly Asked[],
  death: Death,
  living: readonly Asked[],
): readonly Model[] {
  const answered = dying.filter(({ answers }) => answers !== undefined).length;
  const before = new Table();
  const after = new Table();
  before.add(0, 0, starts);
  for (let i = 0; i <= dying.length; i++) {
    for (let j = 0; j <= living.length; j++) {
      const models = before.get(i, j);
      const mine = dying[i];
      const theirs = living[j];
      if (mine !== undefined && mayPrecede(mine, theirs)) before.add(i + 1, j, ask(models, mine));
      if (theirs !== undefined && mayPrecede(theirs, mine) && mayPrecede(theirs, death)) {
        before.add(i, j + 1, ask(models, theirs));
      }
      if (i >= answered && mayPrecede(death, theirs)) {
        after.add(
          0,
          j,
          models.map((model) => end(model, death.by, true)),
        );
      }
    }
  }
  for (const [j, asked] of living.entries()) after.add(0, j + 1, ask(after.get(0, j), asked));
  return after.get(0, living.length);
}

function mayPrecede(one: Span, other: Span | undefined): boolean {
  return other === undefined || other.until >= one.from;
}

/** What it makes of each of the models whose answers are those that came. */
function ask(models: readonly Model[], { by, commands, answers }: Asked): readonly Model[] {
  return models.flatMap((before) => {
    const { model, written } = applyAll(before, [{ by, commands }]);
    const isRight = answers === undefined || isDeepStrictEqual(written[0]?.answers, answers);
    return isRight ? [model] : [];
  });
}

/** What a store may hold after so many groups of each process. */
class Table {
  readonly #models = new Map<string, Model[]>();

  get(i: number, j: number): readonly Model[] {
    return this.#models.get(`${i} ${j}`) ?? [];
  }

  /** Orders that come to the same are one. */
  add(i: number, j: number, models: readonly Model[]): void {
    const known = this.#models.get(`${i} ${j}`) ?? [];
    for (const model of models) {
      if (!known.some((other) => isDeepStrictEqual(other, model))) known.push(model);
    }
    this.#models.set(`${i} ${j}`, known);
  }
}
