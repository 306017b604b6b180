import * as fc from "fast-check";
import { expect, it } from "vitest";
import { wireStatus } from "../../../src/generation/2025-11-25.ts";
import { memoryStore } from "../../../src/store/sqlite/memory-store.ts";
import type { TaskCommand } from "../../../src/task/command.ts";
import { arbitraryLifeCommand } from "../../model/arbitrary-command.ts";
import { modelRuns, modelTimeoutMs } from "../../model/model-runs.ts";
import { ids } from "../../model/view.ts";

/** Every step that a task may make, as its requestor sees it. */
const steps = [
  "(none) → working",
  "working → input_required",
  "working → completed",
  "working → failed",
  "working → cancelled",
  "input_required → working",
  "input_required → completed",
  "input_required → failed",
  "input_required → cancelled",
];

it(
  "shows a task that starts as working and goes no way that is not allowed, whatever happens to it [C-042 C-043 C-044 C-045]",
  { timeout: modelTimeoutMs },
  async () => {
    const seen = new Set<string>();
    const commands = fc.array(arbitraryLifeCommand, { minLength: 1, maxLength: 60, size: "max" });
    const property = fc.asyncProperty(commands, async (all) => {
      for (const step of await stepsOf(all)) seen.add(step);
    });
    await fc.assert(property, modelRuns(2_000));
    expect([...seen].sort()).toEqual([...steps].sort());
  },
);

/** The steps that the tasks of a store make while it is given these commands. */
async function stepsOf(commands: readonly TaskCommand[]): Promise<string[]> {
  const store = memoryStore();
  await store.open({ id: "test", handlers: [] });
  const made: string[] = [];
  const before = new Map<string, string>();
  for (const command of commands) {
    await store.write(command);
    for (const id of ids) {
      const task = await store.get(id);
      const status = task === undefined ? undefined : wireStatus(task);
      const last = before.get(id) ?? "(none)";
      // One that is deleted makes no step: its id can be given to a new task here.
      if (status === undefined) before.delete(id);
      else before.set(id, status);
      if (status !== undefined && status !== last) made.push(`${last} → ${status}`);
    }
  }
  await store.close();
  return made;
}
