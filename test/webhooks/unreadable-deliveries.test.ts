import { expect, onTestFinished, test } from "vitest";
import { createQueued, noon } from "../../src/testing/sample-task.ts";
import { change } from "../cli/admin/change-rows.ts";
import { kinds, somePlace } from "../cli/admin/some-place.ts";

test.each(kinds)(
  "what another version keeps for a webhook in %s, and this one cannot read, holds up nothing",
  { timeout: 60_000 },
  async (kind) => {
    const place = await somePlace(kind);
    const store = place.store();
    await store.open({ id: "server", handlers: [] });
    onTestFinished(() => store.close());
    for (const [event, generation] of [
      ["paused", "plain"],
      ["created", "2031-01-01"],
    ] as const)
      await change(
        place,
        `INSERT INTO delivery (hook, event, task_id, tool, principal, generation, version, at, due_at, tries)
          VALUES ('main', '${event}', 'other', 'work', NULL, '${generation}', 1, 1, 1, 0)`,
      );
    expect(await store.outbox?.nextDueAt("main")).toBeNull();
    await store.write(createQueued("a", { notifies: ["main"] }));
    expect(await store.outbox?.nextDueAt("main")).toBe(noon);
    const claim = { type: "claim_deliveries", now: noon, hook: "main", limit: 1, until: noon + 1 } as const;
    const { deliveries } = await store.write<"claim_deliveries">(claim);
    expect(deliveries).toMatchObject([{ taskId: "task-a", event: "created" }]);
    expect(await store.outbox?.counts(9)).toMatchObject([{ hook: "main", waiting: 3 }]);
  },
);
