import { expect, it } from "vitest";
import { atMost, barsPath } from "../../dashboard/src/parts/bar-shape.ts";

it("adds up neighbours where there are more numbers than bars", () => {
  expect(atMost(3, [1, 2, 3])).toEqual([1, 2, 3]);
  expect(atMost(3, [1, 2, 3, 4, 5, 6])).toEqual([3, 7, 11]);
  expect(atMost(3, [1, 2, 3, 4, 5])).toEqual([1, 5, 9]);
  expect(
    atMost(
      60,
      Array.from({ length: 360 }, () => 1),
    ),
  ).toEqual(Array.from({ length: 60 }, () => 6));
  expect(atMost(60, [])).toEqual([]);
});

it("draws the most as high as there is room, and a line where there is nothing", () => {
  expect(barsPath([0, 4, 2, 0.01], 20)).toBe("M0 20v-1h2v1zM3 20v-20h2v20zM6 20v-10h2v10zM9 20v-2h2v2z");
  expect(barsPath([], 20)).toBe("");
});
