import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import { AnswerTurns } from "../../../src/server/http/admission.ts";

/** Turns by a clock that only answers move: `answer` takes its turn, and then that many milliseconds. */
function answering() {
  let now = 0;
  const turns = new AnswerTurns(() => now);
  const answered: string[] = [];
  const answer = async (name: string, ms: number): Promise<void> => {
    const wait = turns.take();
    if (wait !== undefined) await wait;
    now += ms;
    answered.push(name);
  };
  return { answered, answer };
}

it("answers at once as long as that is quick", () => {
  const { answered, answer } = answering();
  for (const name of ["a", "b", "c"]) void answer(name, 2);
  expect(answered).toEqual(["a", "b", "c"]);
});

it("lets everything else go on between answers that take long, and keeps their order", async () => {
  const { answered, answer } = answering();
  const all = Promise.all(["a", "b", "c"].map((name) => answer(name, 20)));
  expect(answered).toEqual(["a"]);
  const others: number[] = [];
  for (let before = 1; before < 3; before = answered.length) {
    let turns = 0;
    for (; answered.length === before; turns++) await turn();
    others.push(turns);
  }
  await all;
  expect(answered).toEqual(["a", "b", "c"]);
  expect(Math.min(...others)).toBeGreaterThan(10);
});

it("answers what has waited together once there is time, and then at once again", async () => {
  const { answered, answer } = answering();
  const all = [answer("large", 20), ...["a", "b", "c"].map((name) => answer(name, 1))];
  expect(answered).toEqual(["large"]);
  let seen = 0;
  while (answered.length === 1) {
    await turn();
    seen = answered.length;
  }
  expect(seen).toBe(4);
  await Promise.all(all);
  for (let turns = 0; turns < 100; turns++) await turn();
  void answer("later", 1);
  expect(answered.at(-1)).toBe("later");
});
