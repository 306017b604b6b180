import { TaskStatusNotificationSchema, TaskStatusSchema } from "@modelcontextprotocol/sdk/types.js";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { getTaskResult, wireStatus, type WireStatus } from "../../../src/generation/sep-1686.ts";
import { memoryStore } from "../../../src/store/sqlite/memory-store.ts";
import type { TaskCommand } from "../../../src/task/command.ts";
import { arbitraryLifeCommand } from "../../model/arbitrary-command.ts";
import { modelRuns, modelTimeoutMs } from "../../model/model-runs.ts";
import { ids } from "../../model/view.ts";
import { submitted } from "./sample-view.ts";

/** From each status, those that a task may come to next; nothing leaves the others. */
const allowed: Partial<Record<WireStatus, readonly WireStatus[]>> = {
  submitted: ["working", "completed", "failed", "cancelled", "input_required"],
  working: ["input_required", "completed", "failed", "cancelled"],
  input_required: ["working", "completed", "failed", "cancelled"],
};

it(
  "starts as submitted and goes no way that is not allowed, whatever happens [S-026 S-027 S-028 S-029 S-030 S-031]",
  { timeout: modelTimeoutMs },
  async () => {
    const seen = new Set<string>();
    const commands = fc.array(arbitraryLifeCommand, { minLength: 1, maxLength: 60, size: "max" });
    const property = fc.asyncProperty(commands, async (all) => {
      for (const [from, to] of await stepsOf(all)) {
        seen.add(`${from} ${to}`);
        expect(allowed[from]).toContain(to);
      }
    });
    await fc.assert(property, modelRuns(2_000));
    for (const step of ["submitted working", "working input_required", "input_required working"]) {
      expect(seen).toContain(step);
    }
  },
);

it("is a form of its own, of which published schemas know nothing [S-P-002]", () => {
  expect(TaskStatusSchema.safeParse("submitted").success).toBe(false);
  const message = { method: "notifications/tasks/status", params: getTaskResult(submitted()) };
  expect(TaskStatusNotificationSchema.safeParse(message).success).toBe(false);
});

/** The steps that the tasks of a store make while it is given these commands; every task begins in the queue. */
async function stepsOf(commands: readonly TaskCommand[]): Promise<(readonly [WireStatus, WireStatus])[]> {
  const store = memoryStore();
  await store.open({ id: "test", handlers: [] });
  const made: (readonly [WireStatus, WireStatus])[] = [];
  const before = new Map<string, WireStatus>();
  for (const command of commands) {
    await store.write(command.type === "create" ? { ...command, token: null } : command);
    for (const id of ids) {
      const task = await store.get(id);
      const status = task === undefined ? undefined : wireStatus(task);
      const last = before.get(id);
      if (status === undefined) before.delete(id);
      else before.set(id, status);
      if (status === undefined || status === last) continue;
      if (last === undefined) expect(status).toBe("submitted");
      else made.push([last, status]);
    }
  }
  await store.close();
  return made;
}
