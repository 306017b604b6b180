import { describe, expect, it } from "vitest";
import { EndOrder, type End } from "../../src/runtime/journal/end-order.ts";
import { Scheduler } from "../../src/runtime/journal/scheduler.ts";
import { SlotHolder } from "../../src/runtime/journal/slot-holder.ts";
import { nextTurn } from "../../src/runtime/next-turn.ts";
import { Slots } from "../../src/runtime/dispatch/slots.ts";
import type { JournalEntry } from "../../src/task/journal.ts";
import type { CommandResult } from "../../src/task/command.ts";
import { runningRecord } from "../contract/sample-task.ts";
import { rest } from "../../src/testing/clocks.ts";

const atOnce = async (): Promise<void> => undefined;
const noInputs = { complete: true, read: async () => undefined };

function ended(key: string, doneVersion: number): JournalEntry {
  const blank = {
    method: null,
    request: null,
    requestHash: null,
    value: null,
    error: null,
    deadlineAt: null,
    tries: 0,
    begunAt: null,
  };
  return { key, kind: "step", ...blank, doneAt: 1, doneVersion };
}

function orderOf(journal: readonly JournalEntry[] = []): EndOrder {
  const slots = new Slots(1);
  slots.tryTake();
  const keys = journal.map(({ key }) => key);
  return new EndOrder(keys, 1, new Scheduler<End>(), noInputs, new SlotHolder(slots.of(null)));
}

/** A write of which the store is still to say to which version it led. */
class Write {
  readonly #result = Promise.withResolvers<CommandResult<"end_sleep">>();
  readonly result = this.#result.promise;

  commit(version: number): void {
    this.#result.resolve({ ok: true, task: runningRecord({ version }) });
  }
}

describe("ends of earlier attempts", () => {
  it("come by version, and those of one command as they stand in the journal", async () => {
    const journal = [ended("f", 9), ended("g", 9), ended("e", 4), ended("d", 3)];
    const order = orderOf(journal);
    const seen: string[] = [];
    const turns = journal.map((entry, place) =>
      order.turn(entry, place, atOnce).then(() => seen.push(entry.key)),
    );
    await Promise.all(turns.reverse());
    expect(seen.join("")).toBe("defg");
  });

  it("come one at a time, after all that the one before set going", async () => {
    const [first, nested, later] = [ended("first", 1), ended("nested", 2), ended("later", 3)];
    const order = orderOf([first, nested, later]);
    const seen: string[] = [];
    const waits = order.turn(later, 2, atOnce).then(() => seen.push("later"));
    const sets = order.turn(first, 0, atOnce).then(async () => {
      for (let turn = 0; turn < 50; turn++) await Promise.resolve();
      await order.turn(nested, 1, atOnce);
      seen.push("nested");
    });
    await Promise.all([waits, sets]);
    expect(seen).toEqual(["nested", "later"]);
  });

  it("wait for updates of the handler, and not for ever", async () => {
    const entry = ended("a", 1);
    const order = orderOf([entry]);
    const seen: string[] = [];
    const first = Promise.withResolvers<void>();
    const goesOn = (): void => {
      if (seen.length === 0) order.afterUpdate(nextTurn().then(goesOn));
    };
    order.afterUpdate(first.promise.then(goesOn));
    const turn = order.turn(entry, 0, atOnce).then(() => seen.push("a"));
    await rest();
    expect(seen).toEqual([]);
    first.resolve();
    await turn;
  });
});

describe("ends of this attempt", () => {
  it("come at once where nothing else goes on", async () => {
    const order = orderOf();
    const write = new Write();
    const ending = order.ending(write.result).then(() => "ended");
    write.commit(2);
    const turn = nextTurn().then(() => "turn");
    expect(await Promise.race([turn, ending])).toBe("ended");
  });

  it("come by version, whichever write is answered first", async () => {
    const order = orderOf();
    const seen: number[] = [];
    const writes = [3, 2, 4].map((version) => ({ version, write: new Write() }));
    const all = writes.map(({ version, write }) => order.ending(write.result).then(() => seen.push(version)));
    for (const { version, write } of writes) {
      write.commit(version);
      await rest();
      if (version !== 4) expect(seen).toEqual([]);
    }
    await Promise.all(all);
    expect(seen).toEqual([2, 3, 4]);
  });

  it("wait for no write that began after they were known", async () => {
    const order = orderOf();
    const [first, earlier, later] = [new Write(), new Write(), new Write()];
    const opening = order.pending(earlier.result);
    const ending = order.ending(first.result);
    first.commit(2);
    await rest();
    const neverEnds = order.ending(later.result);
    earlier.commit(3);
    await Promise.all([opening, ending]);
    later.commit(4);
    await neverEnds;
  });

  it("come one in each turn of the event loop", async () => {
    const order = orderOf();
    const seen: string[] = [];
    const [first, second] = [new Write(), new Write()];
    const deep = order.ending(first.result).then(async () => {
      for (let turn = 0; turn < 50; turn++) await Promise.resolve();
      seen.push("first");
    });
    first.commit(2);
    await Promise.resolve();
    const shallow = order.ending(second.result).then(() => seen.push("second"));
    second.commit(3);
    await Promise.all([deep, shallow]);
    expect(seen).toEqual(["first", "second"]);
  });

  it("need the slot of their task", async () => {
    const slots = new Slots(1);
    slots.tryTake();
    const slot = new SlotHolder(slots.of(null));
    const order = new EndOrder([], 1, new Scheduler<End>(), noInputs, slot);
    void slot.whileWaiting(() => new Promise(() => undefined));
    slots.tryTake(); // somebody else
    let has = false;
    const write = new Write();
    const ending = order.ending(write.result).then(() => (has = true));
    write.commit(2);
    await rest();
    expect(has).toBe(false);
    slots.give();
    await ending;
    await rest();
    expect(slots.tryTake()).toBe(true); // the handler did nothing, and waits again
  });
});
