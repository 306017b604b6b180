import { describe, expect, it } from "vitest";
import type { TaskWriter } from "../../src/runtime/journal/piece-writer.ts";
import { Journal } from "../../src/runtime/journal/journal.ts";
import { Scheduler } from "../../src/runtime/journal/scheduler.ts";
import { SlotHolder } from "../../src/runtime/journal/slot-holder.ts";
import { nextTurn } from "../../src/runtime/wait-for.ts";
import { defaultSettings } from "../../src/runtime/options.ts";
import { Slots } from "../../src/runtime/dispatch/slots.ts";
import type { ListedEntry } from "../../src/store/store.ts";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import type { CommandResult } from "../../src/task/command.ts";
import { runningRecord } from "../contract/sample-task.ts";
import { rest } from "../../src/testing/clocks.ts";

const nothing = (): void => undefined;

function ended(key: string, doneVersion: number, place: number): ListedEntry {
  const blank = { method: null, requestHash: null, deadlineAt: null, tries: 0, begunAt: null, bytes: 0 };
  return { key, kind: "step", ...blank, doneAt: 1, doneVersion, place };
}

function onlySlot(): { readonly slots: Slots; readonly slot: SlotHolder } {
  const slots = new Slots(1);
  slots.tryTake();
  return { slots, slot: new SlotHolder(slots.of(null)) };
}

/** Reaches no store: its writes are answered by `writes`, one after the other. */
function journalOf(
  entries: readonly ListedEntry[] = [],
  writes: readonly Write[] = [],
  { slot } = onlySlot(),
): Journal {
  const left = [...writes];
  const writer = {
    write: () => left.shift()?.result,
    persist: (ask: () => Promise<unknown>) => ask(),
  } as unknown as TaskWriter;
  const services = { store: memoryStore(), options: defaultSettings };
  const task = runningRecord({ version: 1 });
  return new Journal(task, entries, services, new Scheduler(), slot, writer);
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
    const entries = [ended("f", 9, 0), ended("g", 9, 1), ended("e", 4, 2), ended("d", 3, 3)];
    const journal = journalOf(entries);
    const seen: string[] = [];
    const turns = entries.map((entry) => journal.replayed(entry, nothing).then(() => seen.push(entry.key)));
    await Promise.all(turns.reverse());
    expect(seen.join("")).toBe("defg");
  });

  it("come one at a time, after all that the one before set going", async () => {
    const [first, nested, later] = [ended("first", 1, 0), ended("nested", 2, 1), ended("later", 3, 2)];
    const journal = journalOf([first, nested, later]);
    const seen: string[] = [];
    const waits = journal.replayed(later, nothing).then(() => seen.push("later"));
    const sets = journal.replayed(first, nothing).then(async () => {
      for (let turn = 0; turn < 50; turn++) await Promise.resolve();
      await journal.replayed(nested, nothing);
      seen.push("nested");
    });
    await Promise.all([waits, sets]);
    expect(seen).toEqual(["nested", "later"]);
  });

  it("wait for updates of the handler, and not for ever", async () => {
    const entry = ended("a", 1, 0);
    const journal = journalOf([entry]);
    const seen: string[] = [];
    const first = Promise.withResolvers<void>();
    const goesOn = (): void => {
      if (seen.length === 0) void journal.updating(nextTurn().then(goesOn));
    };
    void journal.updating(first.promise.then(goesOn));
    const turn = journal.replayed(entry, nothing).then(() => seen.push("a"));
    await rest();
    expect(seen).toEqual([]);
    first.resolve();
    await turn;
  });
});

describe("ends of this attempt", () => {
  it("come at once where nothing else goes on", async () => {
    const write = new Write();
    const ending = journalOf([], [write])
      .endSleep("a")
      .then(() => "ended");
    write.commit(2);
    const turn = nextTurn().then(() => "turn");
    expect(await Promise.race([turn, ending])).toBe("ended");
  });

  it("come by version, whichever write is answered first", async () => {
    const seen: number[] = [];
    const writes = [3, 2, 4].map((version) => ({ version, write: new Write() }));
    const journal = journalOf(
      [],
      writes.map(({ write }) => write),
    );
    const all = writes.map(({ version }) => journal.endSleep(`${version}`).then(() => seen.push(version)));
    for (const { version, write } of writes) {
      write.commit(version);
      await rest();
      if (version !== 4) expect(seen).toEqual([]);
    }
    await Promise.all(all);
    expect(seen).toEqual([2, 3, 4]);
  });

  it("wait for no write that began after they were known", async () => {
    const [first, earlier, later] = [new Write(), new Write(), new Write()];
    const journal = journalOf([], [first, later]);
    const opening = journal.opening("q", earlier.result);
    const ending = journal.endSleep("first");
    first.commit(2);
    await rest();
    const neverEnds = journal.endSleep("later");
    earlier.commit(3);
    await Promise.all([opening, ending]);
    later.commit(4);
    await neverEnds;
  });

  it("come one in each turn of the event loop", async () => {
    const seen: string[] = [];
    const [first, second] = [new Write(), new Write()];
    const journal = journalOf([], [first, second]);
    const deep = journal.endSleep("first").then(async () => {
      for (let turn = 0; turn < 50; turn++) await Promise.resolve();
      seen.push("first");
    });
    first.commit(2);
    await Promise.resolve();
    const shallow = journal.endSleep("second").then(() => seen.push("second"));
    second.commit(3);
    await Promise.all([deep, shallow]);
    expect(seen).toEqual(["first", "second"]);
  });

  it("need the slot of their task", async () => {
    const { slots, slot } = onlySlot();
    const write = new Write();
    const journal = journalOf([], [write], { slots, slot });
    void slot.whileWaiting("event", () => new Promise(() => undefined));
    slots.tryTake(); // somebody else
    let has = false;
    const ending = journal.endSleep("a").then(() => (has = true));
    write.commit(2);
    await rest();
    expect(has).toBe(false);
    slots.give();
    await ending;
    await rest();
    expect(slots.tryTake()).toBe(true); // the handler did nothing, and waits again
  });
});
