import { expect, it } from "vitest";
import { periodIn, withPeriod } from "../../dashboard/src/parts/period.ts";

it.each([
  ["", "1h", 60],
  ["period=15m", "15m", 15],
  ["period=6h", "6h", 360],
  ["period=1y", "1h", 60],
])("looks back as %j says", (query, period, minutes) => {
  expect(periodIn(new URLSearchParams(query))).toEqual({ period, minutes });
});

it("keeps what else the URL says, and leaves the usual period out of it", () => {
  const query = new URLSearchParams("tool=a&period=6h");
  expect(withPeriod(query, "15m")).toBe("?tool=a&period=15m");
  expect(withPeriod(query, "1h")).toBe("?tool=a");
  expect(withPeriod(new URLSearchParams(), "1h")).toBe("");
});
