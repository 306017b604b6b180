import * as fc from "fast-check";
import { expect, test } from "vitest";
import { seededRandom } from "../crash/random.ts";
import type { Call, Operation, Shown } from "./history.ts";
import { wrongHistories } from "./linearizable.ts";

const lost = Number.POSITIVE_INFINITY;
const id = "task";
const key = "key";

const op = (since: number, until: number, call: Call): Operation => ({ call, since, until });
const create: Call = { kind: "create", key, id };
const shown = (text: string, more: Partial<Shown> = {}): Shown => ({
  by: "tasks/get",
  status: "working",
  isFinal: false,
  asks: [],
  text,
  ...more,
});
const read = (text: string, more: Partial<Shown> = {}): Call => ({
  kind: "read",
  id,
  shown: shown(text, more),
});
const end = (text: string, status = "completed"): Call => read(text, { status, isFinal: true });
const outcome = (text: string): Call => ({
  kind: "read",
  id,
  shown: { by: "tasks/result", text, isFinal: true, asks: [] },
});
const unknown: Call = { kind: "read", id, shown: "unknown" };
const cancelled: Call = { kind: "cancel", id, outcome: "cancelled" };
const hadEnded: Call = { kind: "cancel", id, outcome: "had ended" };
const lostCancel: Call = { kind: "cancel", id };
const requested: Call = { kind: "request cancel", id, outcome: "acknowledged" };
const answered: Call = { kind: "answer", id, key: "word", outcome: "acknowledged" };
const asking = read("asks", { status: "input_required", asks: ["word"] });

/** One request after another, each with its answer. */
const inTurn = (...calls: readonly Call[]): Operation[] => calls.map((call, n) => op(2 * n, 2 * n + 1, call));

test.each<[string, readonly Operation[]]>([
  ["a life", inTurn(create, read("a"), asking, answered, read("b"), end("done"), outcome("42"), end("done"))],
  ["a call that is repeated under its key", inTurn(create, create, read("a"))],
  [
    "a call whose answer was lost, and its repetition",
    [op(0, lost, { kind: "create", key }), ...inTurn(create, read("a"))],
  ],
  [
    "an answer that was lost after its question was shown",
    [...inTurn(create, asking, read("b"), end("done")), op(2.5, lost, { kind: "answer", id, key: "word" })],
  ],
  [
    "older and newer reads at the same time",
    [...inTurn(create, read("a")), op(10, 20, read("a")), op(11, 12, read("b")), op(21, 22, read("b"))],
  ],
  [
    "many that wait for the end together",
    [
      ...inTurn(create, read("a")),
      ...Array.from({ length: 40 }, (_, n) => op(4 + n, 100 + n, outcome("42"))),
      op(200, 201, end("done")),
    ],
  ],
  ["a read that ends before the creation is answered", [op(0, 9, create), op(1, 2, read("a"))]],
  ["a cancel that came too late", inTurn(create, requested, end("done"))],
  ["a cancel", inTurn(create, requested, read("a"), end("cancelled", "cancelled"))],
  ["a cancel that ends the task", inTurn(create, cancelled, end("cancelled", "cancelled"), hadEnded)],
  [
    "a cancel whose answer was lost, and its repetition",
    [
      ...inTurn(create, read("a")),
      op(4, lost, lostCancel),
      op(6, 7, read("a")),
      op(8, 9, hadEnded),
      op(10, 11, end("cancelled", "cancelled")),
    ],
  ],
  [
    "a cancel that was lost on its way",
    [...inTurn(create, read("a")), op(4, lost, lostCancel), op(6, 7, end("done"))],
  ],
])("%s can be", (_, operations) => {
  expect(wrongHistories(operations)).toEqual([]);
});

test.each<[string, readonly Operation[], Call]>([
  ["an acknowledged task is lost", inTurn(create, unknown), unknown],
  ["a task is lost after it was seen", inTurn(create, read("a"), unknown), unknown],
  ["a task is lost after its end", inTurn(create, end("done"), unknown), unknown],
  ["a task is shown that nobody has made", inTurn(read("a")), read("a")],
  ["the same key makes two tasks", inTurn(create, { ...create, id: "other" }), { ...create, id: "other" }],
  ["a task goes on after its end", inTurn(create, end("done"), read("a")), read("a")],
  ["the end changes", inTurn(create, end("done"), end("other")), end("other")],
  [
    "the kind of the end changes",
    inTurn(create, requested, end("x"), end("x", "failed")),
    end("x", "failed"),
  ],
  ["the result changes", inTurn(create, end("done"), outcome("42"), outcome("43")), outcome("43")],
  ["an older state comes back", inTurn(create, read("a"), read("b"), read("a")), read("a")],
  [
    "another node is behind an answered read",
    [...inTurn(create, read("a")), op(10, 20, read("b")), op(12, 13, read("b")), op(14, 15, read("a"))],
    read("a"),
  ],
  ["an answered question is asked again", inTurn(create, asking, answered, asking), asking],
  [
    "nobody has asked for the cancel",
    inTurn(create, end("cancelled", "cancelled")),
    end("cancelled", "cancelled"),
  ],
  [
    "the cancel was sent after it was shown",
    [...inTurn(create, end("cancelled", "cancelled")), op(4, lost, lostCancel)],
    end("cancelled", "cancelled"),
  ],
  ["a cancelled task goes on", inTurn(create, cancelled, read("a")), read("a")],
  ["a cancelled task succeeds", inTurn(create, cancelled, end("done")), end("done")],
  ["a task is cancelled after its end", inTurn(create, end("done"), cancelled), cancelled],
  ["what had ended goes on", inTurn(create, hadEnded, read("a")), read("a")],
])("%s: found", (_, operations, call) => {
  const found = wrongHistories(operations);
  expect(found).toHaveLength(1);
  expect(found[0]).toContain(`${JSON.stringify(call)}\n`);
});

test("one task has two keys: found", () => {
  expect(wrongHistories(inTurn(create, { ...create, key: "other" }))).toContain(
    "task was made under two keys",
  );
});

/** What clients see of a task that is really there: each request has its effect at a random time between its beginning and its answer. */
function observed(seed: number): Operation[] {
  const random = seededRandom(seed);
  const endsAt = 20 + random() * 60;
  const requests = Array.from({ length: 30 }, (_, n) => {
    const since = n === 0 ? 0 : 1 + random() * 100;
    const at = n === 0 ? 1 : since + random() * 10;
    return { n, since, at, until: at + (n === 0 ? 0 : random() * 10), isLost: n > 0 && random() < 0.1 };
  });
  let endedBy: string | undefined;
  return requests
    .toSorted((a, b) => a.at - b.at)
    .map(({ n, since, at, until, isLost }) => {
      if (n === 0) return op(since, until, create);
      if (endedBy === undefined && at > endsAt) endedBy = "completed";
      if (n % 10 === 0) {
        const cancel = endedBy === undefined ? cancelled : hadEnded;
        endedBy ??= "cancelled";
        return isLost ? op(since, lost, lostCancel) : op(since, until, cancel);
      }
      const call = endedBy === undefined ? read(`state ${Math.floor(at / 7)}`) : end(endedBy, endedBy);
      return isLost ? op(since, lost, { kind: "read", id }) : op(since, until, call);
    });
}

test("what clients see of a register that all of them share is never wrong; once one of its reads is moved behind all others, it is", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1e9 }), (seed) => {
      const operations = observed(seed);
      expect(wrongHistories(operations)).toEqual([]);
      const before = operations.find(
        ({ call, until }) =>
          until < lost && call.kind === "read" && typeof call.shown === "object" && !call.shown.isFinal,
      );
      const isOver = operations.some(
        ({ call, until }) =>
          until < lost && call.kind === "read" && call.shown !== "unknown" && call.shown?.isFinal === true,
      );
      if (before === undefined || !isOver) return;
      expect(wrongHistories([...operations, op(1_000, 1_001, before.call)])).toHaveLength(1);
    }),
    { numRuns: 60 },
  );
});
