import { expect, it } from "vitest";
import { Process, text, type Handler } from "./harness.ts";

const hang: Handler = () => new Promise(() => undefined);

it("takes over every task of thousands: those that had not begun oldest first, by turns with the one that had", async () => {
  const first = await Process.started({ tools: { counts: hang }, options: { concurrency: 1 } });
  const ids: string[] = [];
  // More than two pages of what the store hands out, and a page that ends with the last of them.
  for (let n = 0; n < 1_500; n++) ids.push(await first.callId("counts"));
  const seen: string[] = [];
  const config = { onCrash: "resume" as const };
  const counts: Handler = (_, task) => (seen.push(task.id), text("ran"));
  const second = await first.crash({
    tools: { counts: { config, handler: counts } },
    options: { concurrency: 1 },
  });
  for (const id of ids) await second.ended(id);
  const [begun = ""] = ids;
  expect(seen.filter((id) => id !== begun)).toEqual(ids.slice(1).toSorted());
  expect(seen.indexOf(begun)).toBeLessThan(3);
  expect(await second.store.unfinished("", 10)).toEqual([]);
});

it("leaves no timer behind for tasks that pause, or wait for their tool, when it stops", async () => {
  const config = { onCrash: "resume" as const };
  const tools = { poison: { config, handler: hang } };
  let process = await Process.started({ tools: { ...tools, gone: hang } });
  const gone = await process.callId("gone");
  const poison = await process.callId("poison");
  for (let crash = 0; crash < 3; crash++) {
    process = await process.crash({ tools });
    await process.clock.advance(2_000);
  }
  await process.until(poison, ({ task }) => task.state === "running");
  const { armed } = process.clock; // by those that died
  process = await process.crash({ tools });
  expect((await process.get(poison)).task).toMatchObject({ state: "queued", crashes: 4 });
  expect(process.clock.armed).toBeGreaterThan(armed + 1);
  await process.runtime.stop();
  expect(process.clock.armed).toBe(armed);
  await process.clock.advance(3_600_000);
  const next = await process.restart({ tools: {} });
  for (const id of [gone, poison]) expect((await next.store.get(id))?.state).toBe("queued");
  expect(process.errors).toEqual([]);
});
