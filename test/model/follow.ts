import assert from "node:assert/strict";
import * as fc from "fast-check";
import type { TaskChange } from "../../src/store/store.ts";
import type { CommandResult, TaskCommand } from "../../src/task/command.ts";
import { arbitraryCommand, arbitraryLook } from "./arbitrary-command.ts";
import { apply, emptyModel } from "./model.ts";
import { viewOfModel, type Look, type View } from "./view.ts";

/** A store that is put beside the model. */
export interface Subject {
  /** Makes all writes before it waits for any: where it can, the store puts them into one commit. */
  write(commands: readonly TaskCommand[]): Promise<Written>;
  look(at: Look): Promise<View>;
  /** Ends the store and opens another one on what it kept. */
  reopen(): Promise<void>;
}

export interface Written {
  readonly results: readonly CommandResult[];
  readonly changes: readonly TaskChange[];
}

/** One write or several at once, or an end of the store; then a look at all of it. */
export interface ModelMove {
  readonly commands: readonly TaskCommand[] | "reopen";
  readonly look: Look;
}

const one = fc.tuple(arbitraryCommand);
const group = fc.array(arbitraryCommand, { minLength: 2, maxLength: 8, size: "max" });

/** Sequences of moves; where the store can be reopened, now and then a move does that. */
export function arbitraryMoves(maxLength: number, reopens: boolean): fc.Arbitrary<ModelMove[]> {
  const commands = fc.oneof(
    { weight: 10, arbitrary: one },
    { weight: 10, arbitrary: group },
    { weight: reopens ? 1 : 0, arbitrary: fc.constant("reopen" as const) },
  );
  return fc.array(fc.record({ commands, look: arbitraryLook }), { minLength: 1, maxLength, size: "max" });
}

/** Holds a store to the model, move by move; `note` hears what the commands came to. */
export async function follow(
  subject: Subject,
  moves: readonly ModelMove[],
  note: (command: TaskCommand, result: CommandResult) => void = () => undefined,
): Promise<void> {
  let model = emptyModel;
  for (const { commands, look } of moves) {
    if (commands === "reopen") {
      await subject.reopen();
    } else {
      const results: CommandResult[] = [];
      const changes: TaskChange[] = [];
      for (const command of commands) {
        const step = apply(model, command);
        model = step.model;
        results.push(step.result);
        changes.push(...step.changes);
        note(command, step.result);
      }
      assert.deepEqual(await subject.write(commands), { results, changes });
    }
    assert.deepEqual(await subject.look(look), viewOfModel(model, look));
  }
}
