import { expect, it } from "vitest";
import { deployedOver, kinds, mistakes } from "./deploys.ts";

const each = 34;

it.each(mistakes)(
  "of 200 tasks that wait, a deploy that is rolled back harms none: %s",
  async (mistake) => {
    const found = await deployedOver(mistake, each);
    expect(found.map(([kind, state, , ends]) => [kind, state, ends])).toEqual(
      kinds.flatMap((kind) => Array.from({ length: each }, () => [kind, "settled", 1])),
    );
    const results = Map.groupBy(found, ([kind]) => kind);
    for (const of of results.values())
      expect(new Set(of.map(([, , content]) => JSON.stringify(content))).size).toBe(1);
  },
  60_000,
);
