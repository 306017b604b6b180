import { expect, it } from "vitest";
import { showTask } from "../../src/admin/show-task.ts";
import { isTerminal } from "../../src/task/outcome.ts";
import { bodyOf, Process, text, type Setup } from "./harness.ts";

const never = new Promise<never>(() => undefined);

/** One life of a server. */
class Life {
  /** Whether the handler runs that ends the process. */
  isPoisoned = false;
  /** Ends the long steps. */
  readonly long = Promise.withResolvers<void>();

  get tools(): Setup["tools"] {
    return {
      poison: {
        config: { onCrash: "resume" },
        handler: () => {
          this.isPoisoned = true;
          return never;
        },
      },
      innocent: async (_, task) => {
        await task.step("first", () => 1);
        await task.step("long", () => this.long.promise);
        return text("fine");
      },
    };
  }
}

it("a task that ends its process fails, and no other with it; operators see who was suspected, and cleared", async () => {
  let life = new Life();
  let process = await Process.started(life);
  const poison = await process.callId("poison");
  const innocents = await Promise.all([1, 2, 3].map(() => process.callId("innocent")));
  for (const id of innocents) await process.journalHas(id, "first");
  let lives = 1;
  for (; !isTerminal((await process.get(poison)).task.state); lives++) {
    expect(lives).toBeLessThan(10);
    if (!life.isPoisoned) life.long.resolve();
    for (let ms = 0; ms < 120_000 && !life.isPoisoned; ms += 1_000) await process.clock.advance(1_000);
    if (!life.isPoisoned) continue;
    life = new Life();
    process = await process.crash(life);
    await process.clock.advance(60_000);
  }
  life.long.resolve();
  const failed = await process.ended(poison);
  expect(bodyOf(failed)["message"]).toMatch(/^Gave up: the server crashed \d times in a row/);
  const shown = await showTask(process.store, poison, process.clock.now());
  expect(shown?.suspicion).toMatchObject({ clearedAt: null });
  for (const id of innocents) {
    expect(bodyOf(await process.ended(id))).toEqual(text("fine"));
    const details = await showTask(process.store, id, process.clock.now());
    expect(details?.suspicion).toMatchObject({
      shared: 0,
      since: expect.any(Number),
      clearedAt: expect.any(Number),
    });
    const lost = details?.attempts.filter(({ end }) => end === "lost") ?? [];
    expect(lost).toHaveLength(2);
    for (const { error } of lost) expect(error).toContain("so this does not count against the task");
  }
});

it("a machine that is killed five times fails no task that others ran beside", async () => {
  let life = new Life();
  let process = await Process.started(life);
  const ids = await Promise.all([1, 2, 3].map(() => process.callId("innocent")));
  for (const id of ids) await process.journalHas(id, "first");
  for (let kill = 0; kill < 5; kill++) {
    life = new Life();
    process = await process.crash(life);
    await process.clock.advance(60_000);
  }
  life.long.resolve();
  for (const id of ids) expect(bodyOf(await process.ended(id))).toEqual(text("fine"));
});
