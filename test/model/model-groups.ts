import type { TaskChange } from "../../src/store/store.ts";
import type { TaskRecord } from "../../src/task/record.ts";
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

interface Applied {
  readonly model: Model;
  readonly written: readonly Written[];
  /** What commands did to other tasks than their own. */
  readonly around: readonly string[];
}

/** What groups make of a store, one after the other. */
export function applyAll(before: Model, groups: readonly Group[]): Applied {
  let model = before;
  const around: string[] = [];
  const written = groups.map(({ by, commands }) => {
    const answers: Answer[] = [];
    const changes: TaskChange[] = [];
    for (const command of commands) {
      const step = apply(model, by, command);
      assertPromises(model, step.model, command);
      for (const { id, isRelative } of step.changes) {
        const [old, now] = [model, step.model].map(({ tasks }) => tasks.get(id)?.task);
        if (isRelative) around.push(`${command.type}: another ${newsOf(old, now)}`);
      }
      model = step.model;
      answers.push(step.answer);
      changes.push(...step.changes);
    }
    return { answers, changes };
  });
  return { model, written, around };
}

function newsOf(old: TaskRecord | undefined, now: TaskRecord | undefined): string {
  if (old === undefined || now === undefined) return "is made";
  if (now.version > old.version + 1) return "is asked less, and its call ends";
  if (now.childInputs !== old.childInputs) return "is asked";
  if (now.cancelRequestedAt !== old.cancelRequestedAt) return "is to be cancelled";
  return old.lane !== now.lane ? "is woken" : `goes on ${now.state}`;
}
