import { expect, it } from "vitest";
import { createQueued, noon } from "../../../src/testing/sample-task.ts";
import { admin, adminJson, somePlace } from "./some-place.ts";

it(
  "says what webhooks have not been told, and sends again what was given up",
  { timeout: 60_000 },
  async () => {
    const place = await somePlace("SQLite");
    const store = place.store();
    await store.open({ id: "server", handlers: [] });
    await store.write(createQueued("a", { notifies: ["billing"] }));
    await store.write({ type: "cancel", now: noon, id: "task-a" });
    const claim = {
      type: "claim_deliveries",
      now: noon,
      hook: "billing",
      limit: 1,
      until: noon + 1,
    } as const;
    const [first] = (await store.write<"claim_deliveries">(claim)).deliveries;
    const failed = { now: noon, seq: first?.seq ?? 0, tries: 1, at: null, problem: "HTTP 500" };
    await store.write({ type: "retry_delivery", ...failed });
    await store.close();

    expect(await admin(place, "webhooks")).toMatch(/^billing\t1\t2026-11-01 .*\t1\t2026-11-01 .*HTTP 500\n$/);
    expect(await admin(place, "deliveries", "--failed", "--state", "given_up")).toMatch(
      /^1\tbilling\tcreated\t\S+\ttask-a\t2026-11-01T\S+\t1\tgiven up\tHTTP 500\n$/,
    );
    expect(await adminJson(place, "deliveries", "--task", "task-a", "--limit", "1")).toMatchObject({
      deliveries: [{ seq: 2, event: "cancelled", problem: null }],
      next: 2,
    });
    expect(await admin(place, "resend", "billing", "--messages", "2", "--messages", "7", "--dry-run")).toBe(
      "1 message of billing would be sent again\n",
    );
    expect(await admin(place, "resend", "billing")).toBe("1 message of billing sent again\n");
    const lastFailure = { at: noon, problem: "HTTP 500" };
    expect(await adminJson(place, "webhooks")).toEqual({
      webhooks: [{ webhook: "billing", waiting: 2, oldestAt: noon, givenUp: 0, lastFailure }],
    });
    expect(await adminJson(place, "resend", "billing")).toEqual({
      webhook: "billing",
      resent: 0,
      delivered: 0,
    });
    const counted = await admin(place, "resend", "billing", "--waiting", "--changed-from", "2h", "--dry-run");
    expect(counted).toBe("2 messages of billing, and how 0 tasks stand would be sent again\n");
    expect(await admin(place, "actions")).toContain("resend");
  },
);
