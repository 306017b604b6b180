import { expect, it } from "vitest";
import { RequestDeduplicator } from "../../../src/client/session/bounded-map.ts";

it("recognises a repeated request id as a duplicate within its session", () => {
  const arrivals = new RequestDeduplicator();
  const came = [1, "1", 1, 2, 1].map((id) => arrivals.isFirst(id, 0));
  expect(came).toEqual([true, true, false, true, false]);
  expect(arrivals.isFirst(1, 1)).toBe(true);
});

it("limits the number of ids", () => {
  const arrivals = new RequestDeduplicator();
  for (let id = 0; id <= 1_000; id++) arrivals.isFirst(id, 0);
  expect([arrivals.isFirst(1_000, 0), arrivals.isFirst(0, 0)]).toEqual([false, true]);
});
