import { expect, it } from "vitest";
import { Arrivals } from "../../../src/client/session/arrivals.ts";

it("takes a request that comes again under its id for the same message, as long as the session is", () => {
  const arrivals = new Arrivals();
  const came = [1, "1", 1, 2, 1].map((id) => arrivals.isFirst(id, 0));
  expect(came).toEqual([true, true, false, true, false]);
  expect(arrivals.isFirst(1, 1)).toBe(true);
});

it("keeps no more ids than it has use for", () => {
  const arrivals = new Arrivals();
  for (let id = 0; id <= 1_000; id++) arrivals.isFirst(id, 0);
  expect([arrivals.isFirst(1_000, 0), arrivals.isFirst(0, 0)]).toEqual([false, true]);
});
