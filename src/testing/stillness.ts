import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { MemoryTables } from "../store/memory/memory-tables.ts";
import { openInputs } from "../store/memory/stored-task.ts";
import type { TaskRecord } from "../task/record.ts";
import { isTerminal } from "../task/status.ts";
import { rest } from "./fake-clock.ts";

/** How often to check whether anything moves, in ms of real time. */
const lookMs = 50;

export interface StillnessOptions {
  readonly tables: MemoryTables;
  readonly now: () => number;
  /** Whether questions of this key are answered as soon as they are asked. */
  readonly isAnswered: (key: string) => boolean;
  /** How long running code may take before time moves anyway, in ms of real time. */
  readonly settleMs: number;
  /** How long nothing may move before a wait gives up, in ms of real time. */
  readonly patienceMs: number;
}

/** Detects whether any handler works, or all of them wait for time or the test. */
export class Stillness {
  readonly #options: StillnessOptions;

  constructor(options: StillnessOptions) {
    this.#options = options;
  }

  /** Resolves when no handler works or is about to be answered. */
  async settled(): Promise<void> {
    const giveUpAt = performance.now() + this.#options.settleMs;
    for (;;) {
      await rest();
      if (!(this.#isWorking || this.#isAnswered) || performance.now() >= giveUpAt) return;
      await pause(1);
    }
  }

  /** Settles like `wanted`. If nothing moves for long, rejects with an `AssertionError` with the text of `problem`. */
  async unlessStuck<T>(wanted: Promise<T>, problem: () => string | undefined): Promise<T> {
    const over = new AbortController();
    try {
      return await Promise.race([wanted, this.#stuck(problem, over.signal)]);
    } finally {
      over.abort();
    }
  }

  async #stuck(problem: () => string | undefined, signal: AbortSignal): Promise<never> {
    let changes = this.#changes;
    for (let stillMs = 0; ; stillMs += lookMs) {
      await pause(lookMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return new Promise<never>(() => undefined);
      if (this.#isWorking || changes !== this.#changes) stillMs = 0;
      changes = this.#changes;
      if (stillMs < this.#options.patienceMs) continue;
      const message = problem();
      if (message !== undefined) assert.fail(message);
    }
  }

  /** Whether the client is about to answer a question: time moves only after that. */
  get #isAnswered(): boolean {
    const { tables, isAnswered } = this.#options;
    if (tables.owners.living === 0) return false;
    return [...tables.stored.values()].some(
      ({ record, journal }) =>
        !isTerminal(record.state) && openInputs(journal.values()).some(({ key }) => isAnswered(key)),
    );
  }

  get #records(): readonly TaskRecord[] {
    return [...this.#options.tables.stored.values()].map(({ record }) => record);
  }

  get #isWorking(): boolean {
    return this.#records.some((record) => this.#works(record));
  }

  /** Grows with each change of a task, and with time. */
  get #changes(): number {
    return this.#records.reduce((changes, { version }) => changes + version, this.#options.now());
  }

  #works(record: TaskRecord): boolean {
    const { tables } = this.#options;
    const { state, owner, waiting, lane } = record;
    const hasOwner = owner === null ? tables.owners.living > 0 : tables.lives(owner);
    if (!hasOwner) return false;
    if (state === "running") return !waiting;
    return state === "queued" && lane !== null && tables.isServed(record);
  }
}
