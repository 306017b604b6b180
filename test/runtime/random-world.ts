import { memoryDatabase } from "../../src/store/sqlite/memory-store.ts";
import { HoldfastError } from "../../src/task/fault.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import type { FakeClock } from "../../src/testing/clocks.ts";
import { nobody, Process, type Setup } from "./harness.ts";
import { randomTools, type RandomTool } from "./random-tools.ts";
import { SeededClock } from "./seeded-clock.ts";
import { slowStore, turns } from "./slow-store.ts";
import { StepRuns, type Life } from "./step-runs.ts";
import { storeFailed } from "./watched-store.ts";

export interface WorldSetup {
  readonly seed: number;
  readonly tools: readonly RandomTool[];
  readonly maxParkedFrames: number;
  readonly concurrency: number;
  readonly slow: readonly boolean[];
  /** How many turns each call of the store takes, before and after it is done, one after the other and from the start again. */
  readonly delays: readonly number[];
}

/** What happens to the process `by`, to the task `task`, or to both. */
export type Happening =
  | {
      readonly kind: "answer";
      readonly by: number;
      readonly task: number;
      readonly count: number;
      readonly from: number;
    }
  | { readonly kind: "event"; readonly by: number; readonly task: number; readonly name: string }
  | { readonly kind: "cancel" | "cancel now"; readonly by: number; readonly task: number }
  | { readonly kind: "time" | "turns"; readonly count: number }
  | { readonly kind: "crash" | "stop" | "drain"; readonly by: number }
  | { readonly kind: "fail"; readonly by: number; readonly calls: number };

interface Member extends Life {
  over: boolean;
  readonly store: CrashableStore;
  /** How many of the next calls of its store fail. */
  failing: number;
  draining: boolean;
}

/** What a process may report here: its store did fail, it was stopped, and handlers return while other branches of theirs run. */
const expected = new Set([
  "store_failed",
  "store_lost",
  "store_closed",
  "stopping",
  "handler_leaked",
  "step_not_awaited",
]);

/** Two processes on one database, each of which is followed by another when it ends. */
export class RandomWorld {
  readonly clock: FakeClock;
  readonly steps = new StepRuns();
  /** The tasks that a client made, one of each random tool. */
  readonly ids: string[] = [];
  readonly #setup: WorldSetup;
  readonly #database = memoryDatabase();
  readonly #members: Member[] = [];
  readonly #processes: Process[] = [];
  readonly #errors: unknown[] = [];
  readonly #gate = Promise.withResolvers<void>();
  #holders = 0;
  #counted = 0;
  #delayed = 0;

  constructor(setup: WorldSetup) {
    this.#setup = setup;
    this.clock = new SeededClock(setup.seed);
  }

  async start(): Promise<void> {
    for (const by of [0, 1]) await this.#start(by);
    for (const n of this.#setup.tools.keys()) this.ids.push(await this.#process(n).callId(`tool${n}`));
  }

  /** Errors that no failure of a store, crash or stop accounts for. */
  get errors(): readonly unknown[] {
    return [...this.#errors, ...this.#processes.flatMap(unexpected)];
  }

  roots(): Promise<readonly (TaskRecord | undefined)[]> {
    return Promise.all(this.ids.map((id) => this.#process(0).store.get(id)));
  }

  /** Children that have not ended. */
  async childrenLeft(): Promise<readonly string[]> {
    const unfinished = await this.#process(0).store.unfinished("", 100);
    return unfinished.filter(({ parent }) => parent !== null).map(({ id }) => id);
  }

  async happen(what: Happening): Promise<void> {
    switch (what.kind) {
      case "answer": {
        const { inputs = [] } = (await this.#process(what.by).store.snapshot(this.#id(what.task))) ?? {};
        const chosen = [...inputs.slice(what.from), ...inputs].slice(0, what.count).reverse();
        const answers = chosen.map(({ key }) => ({ key, value: answerTo(key) }));
        return this.#ask(what.by, ({ runtime }) => runtime.answer(this.#id(what.task), nobody, answers));
      }
      case "event": {
        const event = { name: what.name, value: this.#count() };
        return this.#ask(what.by, ({ runtime }) => runtime.sendEvent(this.#id(what.task), event));
      }
      case "cancel":
        return this.#ask(what.by, ({ runtime }) => runtime.cancel(this.#id(what.task), nobody));
      case "cancel now":
        return this.#ask(what.by, ({ runtime }) => runtime.cancelNow(this.#id(what.task), nobody));
      case "time":
        return this.clock.advance(what.count);
      case "turns":
        return turns(what.count);
      case "crash":
      case "stop":
        return this.#end(what.by, what.kind);
      case "drain":
        this.#process(what.by).runtime.drain();
        this.#member(what.by).draining = true;
        return;
      case "fail":
        this.#member(what.by).failing = what.calls;
    }
  }

  /** No store fails any more, and both processes run tasks. */
  async repair(): Promise<void> {
    for (const [by, member] of Array.from(this.#members.entries())) {
      member.failing = 0;
      if (member.draining) await this.#end(by, "stop");
    }
  }

  /** Makes as many tasks as both processes have slots, which keep them until the world stops; tells how many run. */
  async holdAllSlots(): Promise<number> {
    for (let n = 0; n < 2 * this.#setup.concurrency; n++) await this.#process(n).callId("gauge");
    for (let n = 0; n < 20 && this.#holders < 2 * this.#setup.concurrency; n++) await turns(20);
    return this.#holders;
  }

  async stop(): Promise<void> {
    this.#gate.resolve();
    await turns(20);
    for (const by of [0, 1]) await this.#stop(by);
  }

  readonly #delay = (): number => this.#setup.delays[this.#delayed++ % this.#setup.delays.length] ?? 0;
  readonly #count = (): number => this.#counted++;

  #id(task: number): string {
    return this.ids[task % this.ids.length] ?? "";
  }

  #process(by: number): Process {
    const process = this.#processes[by % 2];
    if (process === undefined) throw new Error("not started");
    return process;
  }

  #member(by: number): Member {
    const member = this.#members[by % 2];
    if (member === undefined) throw new Error("not started");
    return member;
  }

  /** Nobody waits for what comes of it: the task may have ended, and the process may crash. */
  #ask(by: number, call: (process: Process) => Promise<unknown>): void {
    call(this.#process(by)).catch(() => undefined);
  }

  async #start(by: number): Promise<void> {
    const wrap: ConstructorParameters<typeof CrashableStore>[0] = (inner) =>
      slowStore(this.steps.watched(inner), this.#delay);
    const store = new CrashableStore(wrap, this.#database);
    const member: Member = { store, over: false, failing: 0, draining: false };
    const { maxParkedFrames, concurrency } = this.#setup;
    const crashes = { maxCrashes: 99, crashBackoffMs: 1, maxCrashBackoffMs: 1 };
    const process = new Process(
      {
        tools: randomTools(member, {
          ...this.#setup,
          clock: this.clock,
          steps: this.steps,
          count: this.#count,
          holdsSlot: () => (this.#holders++, this.#gate.promise),
        }),
        // Longer than a slow step takes, which goes on after its attempt was given up.
        options: { maxParkedFrames, concurrency, ...crashes, cancelGraceMs: 5_000 },
        before: this.#before(member),
      },
      this.clock,
      store,
    );
    this.#members[by] = member;
    this.#processes[by] = process;
    await this.#inTime(process.runtime.start(), () => turns(20), "does not start");
  }

  #before(member: Member): NonNullable<Setup["before"]> {
    return async () => {
      await turns(this.#delay());
      if (member.failing === 0) return;
      member.failing--;
      throw storeFailed();
    };
  }

  async #end(by: number, how: "crash" | "stop"): Promise<void> {
    const member = this.#member(by);
    member.over = true;
    if (how === "crash") member.store.crash();
    else await this.#stop(by);
    this.#errors.push(...unexpected(this.#process(by)));
    await this.#start(by);
  }

  async #stop(by: number): Promise<void> {
    this.#member(by).failing = 0;
    const stopped = this.#process(by).runtime.stop(500);
    await this.#inTime(stopped, () => this.clock.advance(100), "does not stop");
  }

  async #inTime(work: Promise<unknown>, pass: () => Promise<void>, otherwise: string): Promise<void> {
    let done = false;
    void work.then(() => (done = true));
    for (let n = 0; n < 200 && !done; n++) await pass();
    if (!done) this.steps.violations.push(otherwise);
  }
}

function unexpected({ errors }: Process): readonly unknown[] {
  return errors.filter((error) => !(error instanceof HoldfastError && expected.has(error.code)));
}

function answerTo(key: string): string {
  return JSON.stringify({ action: "accept", content: { to: key } });
}
