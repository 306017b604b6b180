import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { expect, it } from "vitest";
import { admin, kinds, somePlace, type Place } from "./some-place.ts";

async function reportsIn(place: Place, says?: string): Promise<readonly unknown[]> {
  const store = place.store();
  await store.open({ id: randomUUID(), handlers: [] });
  if (says !== undefined) await store.reports?.write({ minute: 100, body: says }, 0);
  const found = (await store.reports?.between(0, 1_000, 9)) ?? [];
  await store.close();
  return found;
}

it.each(kinds)("loads nothing of how processes stood, on %s", { timeout: 60_000 }, async (kind) => {
  const place = await somePlace(kind);
  expect(await reportsIn(place, '"a"')).toHaveLength(1);
  await admin(place, "dump", "tasks.dump");
  const other = await somePlace(kind);
  const copy = { ...other, cwd: place.cwd };
  await admin(copy, "load", join(place.cwd, "tasks.dump"), "--beside");
  expect(await reportsIn(copy)).toEqual([]);
  expect(await reportsIn(place)).toHaveLength(1);
});
