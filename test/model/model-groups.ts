import type { TaskChange } from "../../src/store/store.ts";
import type { Answer, Model } from "./model-state.ts";
import { apply, type StoreCommand } from "./model.ts";
import { assertPromises } from "./promises.ts";

/** What an owner asks for at once. */
export interface Group {
  readonly by: string;
  readonly commands: readonly StoreCommand[];
}

/** What a group came to. */
export interface Written {
  readonly answers: readonly Answer[];
  readonly changes: readonly TaskChange[];
}

/** What groups make of a store, one after the other. */
export function applyAll(
  before: Model,
  groups: readonly Group[],
): { readonly model: Model; readonly written: readonly Written[] } {
  let model = before;
  const written = groups.map(({ by, commands }) => {
    const answers: Answer[] = [];
    const changes: TaskChange[] = [];
    for (const command of commands) {
      const step = apply(model, by, command);
      assertPromises(model, step.model, command);
      model = step.model;
      answers.push(step.answer);
      changes.push(...step.changes);
    }
    return { answers, changes };
  });
  return { model, written };
}
