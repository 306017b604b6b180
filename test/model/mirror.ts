import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { StoreChanges, TaskStore } from "../../src/store/store.ts";
import type { HandlerName } from "../../src/task/queue.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import { hasClaimable, orphanedHandlers } from "./model-queue.ts";
import type { Model } from "./model-state.ts";
import { byName, ids } from "./view.ts";

/** Far longer than what is told may take, on a busy machine too. */
const deadlineMs = 10_000;

/** What an owner holds of a store, and what it could claim. */
export interface Held {
  readonly tasks: readonly (TaskRecord | null)[];
  readonly hasClaimable: boolean;
  readonly orphaned: readonly HandlerName[];
}

/** What an owner with these handlers is to hold once it has heard of everything. */
export function heldOf(model: Model, by: string): Held {
  return {
    tasks: ids.map((id) => toldOf(model.tasks.get(id)?.task)),
    hasClaimable: hasClaimable(model, by, model.owners.get(by)?.handlers ?? []),
    orphaned: orphanedHandlers(model),
  };
}

/** That a finished task gave up its key, and so is deleted earlier, or that its result was retrieved, is told to nobody. */
function toldOf(task: TaskRecord | undefined): TaskRecord | null {
  if (task === undefined) return null;
  if (task.finishedAt === null) return task;
  const { retrieved: _untold, ...told } = task;
  return { ...told, idempotencyKey: null, sweepAt: null, version: 0 };
}

/**
 * Holds what an owner of a store would, and reads it again only when it is told to: where a change is not told, or told
 * before it can be read, the mirror is behind for ever.
 */
export class Mirror {
  readonly #store: TaskStore;
  readonly #handlers: readonly HandlerName[];
  #held: Held = { tasks: ids.map(() => null), hasClaimable: false, orphaned: [] };
  readonly #stop: () => void;
  #reading: Promise<void>;
  #onRead: () => void = () => undefined;

  /** Of an open store. */
  constructor(store: TaskStore, handlers: readonly HandlerName[]) {
    this.#store = store;
    this.#handlers = handlers;
    this.#reading = this.#read("gap");
    this.#stop = store.subscribe((changes) => {
      this.#reading = this.#reading.then(() => this.#read(changes));
    });
  }

  /** Resolves with what it holds when that is `expected`, or when the time for that is over. */
  async reaches(expected: Held): Promise<Held> {
    const reached = Promise.withResolvers<void>();
    const timer = setTimeout(reached.resolve, deadlineMs);
    this.#onRead = () => {
      if (isDeepStrictEqual(this.#held, expected)) reached.resolve();
    };
    this.#onRead();
    await reached.promise;
    clearTimeout(timer);
    return this.#held;
  }

  /** Resolves when it reads nothing more. */
  async close(): Promise<void> {
    this.#stop();
    await this.#reading;
  }

  async #read(changes: StoreChanges): Promise<void> {
    const told = changes === "gap" ? ids : changes.map(({ id }) => id);
    const tasks = await Promise.all(
      ids.map(async (id, index) =>
        told.includes(id) ? toldOf(await this.#store.get(id)) : (this.#held.tasks[index] ?? null),
      ),
    );
    this.#held = {
      tasks,
      hasClaimable: await this.#store.hasClaimable(this.#handlers),
      orphaned: byName(await this.#store.orphanedHandlers()),
    };
    this.#onRead();
  }
}

export async function assertHears(
  mirror: { readonly reaches: (expected: Held) => Promise<Held> },
  model: Model,
  by: string,
): Promise<void> {
  const expected = heldOf(model, by);
  assert.deepEqual(await mirror.reaches(expected), expected, `${by} was not told of every change`);
}
