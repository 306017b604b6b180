import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { afterTurn, compareNames, lanesFrom, noTurns, withTurn, type Round } from "../../src/task/queue.ts";

describe("a round", () => {
  it("goes through the principals by their names, and then begins anew with the next lane", () => {
    const rounds: string[] = [];
    let round: Round | undefined;
    for (const principal of ["", "ann", "bob", "ann", "bob", "", "ann", "ann", "bob"]) {
      round = afterTurn(round, 0, principal);
      rounds.push(round.lane);
    }
    const [first, second, third] = ["woken", "new", "recovered"];
    expect(rounds).toEqual([first, first, first, second, second, third, third, first, first]);
  });

  it("is one of each priority, also with turns that no claim gave", () => {
    const turns = withTurn(withTurn(withTurn(noTurns, 0, "bob"), 1, "cy"), 0, null);
    expect(turns.rounds).toEqual([
      { priority: 1, principal: "cy", lane: "woken" },
      { priority: 0, principal: "", lane: "new" },
    ]);
  });
});

test("after the lane of a round come the others", () => {
  expect(lanesFrom("new")).toEqual(["new", "recovered", "woken"]);
});

test("names have the order of their UTF-8 bytes, which is that of SQLite", () => {
  const name = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: fc.constantFrom("a", "\uffff", "😀") }),
  );
  fc.assert(
    fc.property(name, name, (a, b) => {
      expect(Math.sign(compareNames(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
});
