import { expect, it } from "vitest";
import { Process, text } from "../runtime/harness.ts";
import { adminOf } from "./operator.ts";

it.each(["2026-07-28", "2025-11-25", "sep-1686", "plain"] as const)(
  "shows a task that runs again to its requestor of %s, under an id of its own",
  async (generation) => {
    const process = await Process.started({ tools: { add: () => text("3") } });
    const ann = { generation, principal: "ann" };
    const scope = generation === "sep-1686" ? { scope: "s1", wireId: "mine" } : {};
    const id = await process.callId("add", { ...ann, ...scope, ttlMs: 60_000 });
    await process.until(id, ({ task }) => task.finishedAt !== null, ann);
    process.clock.jump(1); // newer than the first, to lists
    const again = await adminOf(process).as("operator").retry(id);
    const { task } = await process.until(again.id, ({ task: each }) => each.finishedAt !== null, ann);
    expect(task).toMatchObject({ generation, principal: "ann", wireId: again.id, outcomeKind: "result" });
    expect((await process.runtime.list(ann, { limit: 9 })).map((each) => each.id)).toEqual([again.id, id]);
    const name = { generation, scope: task.scope, wireId: task.wireId };
    expect(await process.runtime.find(name)).toBe(again.id);
    await expect(process.runtime.get(again.id, { ...ann, principal: "bob" })).rejects.toMatchObject({
      code: "unknown_task",
    });
  },
);
