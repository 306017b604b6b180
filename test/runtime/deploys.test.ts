import { describe, expect, it } from "vitest";
import { deployedOver, kinds, mistakes } from "./deploys.ts";

describe("a deploy with a mistake over tasks that wait", () => {
  it.each(mistakes)("that is rolled back, leaves them as if nothing had happened: %s", async (mistake) => {
    const found = await deployedOver(mistake, 2);
    expect(found).toEqual(await deployedOver("none", 2));
    expect(found).toHaveLength(kinds.length * 2);
    expect(found.map(([kind, state, , ends]) => [kind, state, ends])).toEqual(
      kinds.flatMap((kind) => [
        [kind, "settled", 1],
        [kind, "settled", 1],
      ]),
    );
  });
});
