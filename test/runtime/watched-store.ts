import type { TaskStore } from "../../src/store/store.ts";
import type { TaskCommandName } from "../../src/task/command.ts";
import { HoldfastError } from "../../src/task/fault.ts";

/** What a runtime asks of its store: the commands by their names, and the other calls by theirs. */
export type StoreCall = TaskCommandName | Exclude<keyof TaskStore, "write" | "subscribe" | "onWork">;

/** Comes before a call of the store: it may wait, and what it throws the call rejects with. */
export type BeforeCall = (call: StoreCall, id: string | undefined, command?: object) => void | Promise<void>;

/** A store that lets a test in before each call. With `onWork` it tells one process of work, and not all. */
export function watchedStore(
  inner: TaskStore,
  before: BeforeCall = () => undefined,
  onWork = inner.onWork?.bind(inner),
): TaskStore {
  return {
    open: async (owner) => (await before("open", undefined), inner.open(owner)),
    close: async () => (await before("close", undefined), inner.close()),
    renew: async () => (await before("renew", undefined), inner.renew()),
    setHandlers: async (handlers) => (await before("setHandlers", undefined), inner.setHandlers(handlers)),
    write: async (command) => {
      await before(command.type, "id" in command ? String(command.id) : undefined, command);
      return inner.write(command);
    },
    get: async (id) => (await before("get", id), inner.get(id)),
    find: (wire) => inner.find(wire),
    withKeys: (...keys) => inner.withKeys(...keys),
    snapshot: async (id, isVisible) => (await before("snapshot", id), inner.snapshot(id, isVisible)),
    request: async (id) => (await before("request", id), inner.request(id)),
    journal: async (id, ...page) => (await before("journal", id), inner.journal(id, ...page)),
    journalEnds: async (id, keys) => (await before("journalEnds", id), inner.journalEnds(id, keys)),
    journalEntry: async (id, key) => (await before("journalEntry", id), inner.journalEntry(id, key)),
    list: async (...page) => (await before("list", undefined), inner.list(...page)),
    unfinished: async (after, limit) => (
      await before("unfinished", undefined),
      inner.unfinished(after, limit)
    ),
    hasClaimable: async (handlers) => (await before("hasClaimable", undefined), inner.hasClaimable(handlers)),
    orphanedHandlers: async () => (await before("orphanedHandlers", undefined), inner.orphanedHandlers()),
    queued: async (...page) => (await before("queued", undefined), inner.queued(...page)),
    due: async (now, limit) => (await before("due", undefined), inner.due(now, limit)),
    nextSweepAt: async (after) => (await before("nextSweepAt", undefined), inner.nextSweepAt(after)),
    subscribe: (listener) => inner.subscribe(listener),
    ...(onWork === undefined ? {} : { onWork }),
    ...(inner.lease === undefined ? {} : { lease: inner.lease }),
    ...(inner.sharesLoad === undefined ? {} : { sharesLoad: inner.sharesLoad }),
    ...(inner.logs === undefined ? {} : { logs: inner.logs }),
    ...(inner.pieces === undefined ? {} : { pieces: inner.pieces }),
    ...(inner.limits === undefined ? {} : { limits: inner.limits }),
    ...(inner.messages === undefined ? {} : { messages: inner.messages }),
    ...(inner.admin === undefined ? {} : { admin: inner.admin }),
  };
}

export function storeFailed(): HoldfastError {
  return new HoldfastError("store_failed", "The disk is full.");
}

/** The first `times` calls of one kind fail; counts how often that has happened. */
export class Failing {
  hits = 0;
  readonly #call: StoreCall;
  readonly #times: number;

  constructor(call: StoreCall, times = 1) {
    this.#call = call;
    this.#times = times;
  }

  readonly before: BeforeCall = (call) => {
    if (call !== this.#call || this.hits >= this.#times) return;
    this.hits++;
    throw storeFailed();
  };
}

/** Holds all calls of one kind until `open`. */
export class Held {
  readonly #call: StoreCall;
  readonly #reached = Promise.withResolvers<void>();
  readonly #gate = Promise.withResolvers<void>();

  constructor(call: StoreCall) {
    this.#call = call;
  }

  /** Resolves when the first call is held. */
  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  readonly before: BeforeCall = async (call) => {
    if (call !== this.#call) return;
    this.#reached.resolve();
    await this.#gate.promise;
  };

  open(): void {
    this.#gate.resolve();
  }
}
