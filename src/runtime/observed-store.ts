import { isPassing } from "../store/lost-store.ts";
import { type Clock, retryPause } from "./clock.ts";
import { waitFor } from "./wait-for.ts";
import type { TaskStore } from "../store/store.ts";
import type { CommandResult, TaskCommand, TaskCommandName } from "../task/command.ts";
import type { ProcessCounts } from "./reports/process-counts.ts";
import { isStoreFault } from "../task/fault.ts";
import type { Lease } from "./dispatch/lease.ts";
import { deleteWithEvent, emitEventsOf } from "./events/eventful-write.ts";
import { eventError, type ServerEvents } from "./events/server-events.ts";
import type { ServerTelemetry } from "./telemetry/telemetry.ts";

/** What repeated calls of a store need. */
export interface StoreRetrySetup {
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/**
 * Calls the store, and again while it fails (for example with a full disk): finished work must not be lost to a store that recovers, or
 * that this process rejoins. Rejects when `signal` aborts, and with any fault that does not pass.
 */
export async function untilStoreAnswers<T>(
  ask: () => Promise<T>,
  { clock, onError }: StoreRetrySetup,
  signal: AbortSignal,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await ask();
    } catch (error) {
      if (!isPassing(error)) throw error;
      onError(error);
      await waitFor((done) => clock.after(retryPause(failures, clock), done), signal);
    }
  }
}

/**
 * Passes writes to the store unchanged. Counts them once they are durable, emits their events before whoever wrote goes on, and measures each
 * from the request until then, including time spent waiting for others.
 */
function observedWrite(
  inner: Pick<TaskStore, "write" | "get">,
  { counts, events, telemetry }: Pick<StoreObservers, "counts" | "events" | "telemetry">,
): TaskStore["write"] {
  const metrics = telemetry?.metrics;
  function observed<N extends TaskCommandName>(command: TaskCommand<N>): Promise<CommandResult<N>>;
  function observed(command: TaskCommand): Promise<CommandResult> {
    const since = metrics === undefined ? 0 : performance.now();
    const writing = inner.write(command);
    writing.then(
      (result) => {
        metrics?.wrote(command.type, performance.now() - since, result.ok ? "committed" : "refused");
        counts?.wrote(command, result);
        if (events !== undefined) emitEventsOf(command, result, events);
      },
      () => metrics?.wrote(command.type, performance.now() - since, "failed"), // whoever wrote hears of it
    );
    return writing; // itself: nobody waits longer for being measured
  }
  function write<N extends TaskCommandName>(command: TaskCommand<N>): Promise<CommandResult<N>>;
  function write(command: TaskCommand): Promise<CommandResult> {
    if (command.type !== "delete" || events === undefined) return observed(command);
    return deleteWithEvent({ get: inner.get, write: observed }, command, events);
  }
  return write;
}

/** How long a small write shows that the store takes writes, in ms. */
const freshMs = 10_000;

/**
 * Whether the store takes writes. A small one that changes something shows it, until it is too long ago, or any write fails. Reads show
 * nothing, nor do commands that change nothing: on a full disk, and after the end of SQLite's writer thread, they go on.
 */
export class Commits {
  readonly #clock: Pick<Clock, "elapsed">;
  /** When the last small write ended, by the time elapsed; undefined if a write has failed since. */
  #provenAt: number | undefined;

  constructor(clock: Pick<Clock, "elapsed">) {
    this.#clock = clock;
  }

  /** Returns the write, which may fail. */
  watch<T>(write: Promise<T>): Promise<T> {
    write.catch((error: unknown) => {
      if (isStoreFault(error)) this.#provenAt = undefined; // other errors are about what was written
    });
    return write;
  }

  /** The write changes something, whatever the store has. */
  async prove(write: Promise<unknown>): Promise<void> {
    await this.watch(write);
    this.#provenAt = this.#clock.elapsed();
  }

  /** Rejects if the store takes no writes; `probe` makes a small one, if that has to be found out. */
  async assertTaken(probe: () => Promise<unknown>): Promise<void> {
    const ago = this.#clock.elapsed() - (this.#provenAt ?? -Infinity);
    if (ago >= freshMs) await this.prove(probe());
  }
}

/** Reports each task whose record cannot be read only once. */
export class UnreadableTasks {
  readonly #reported = new Set<string>();
  readonly #onError: (error: unknown) => void;

  readonly #events: ServerEvents | undefined;

  constructor(onError: (error: unknown) => void, events?: ServerEvents) {
    this.#onError = onError;
    this.#events = events;
  }

  report(id: string, error: unknown): void {
    if (this.#reported.has(id)) return;
    this.#reported.add(id);
    this.#onError(error);
    this.#events?.emit({ type: "task.unreadable", taskId: id, error: eventError(error) });
  }
}

interface StoreObservers {
  readonly commits: Commits;
  readonly lease: Lease;
  readonly events?: ServerEvents | undefined;
  readonly counts?: ProcessCounts | undefined;
  readonly telemetry?: ServerTelemetry | undefined;
}

/** The store with writes that are watched, counted and measured, and emit events. */
export function observedStore(
  store: TaskStore,
  { commits, lease, events, counts, telemetry }: StoreObservers,
): TaskStore {
  const get: TaskStore["get"] = (id) => store.get(id);
  function own<N extends TaskCommandName>(command: TaskCommand<N>): Promise<CommandResult<N>>;
  function own(command: TaskCommand): Promise<CommandResult> {
    return lease.during(command, commits.watch(store.write(command)));
  }
  const isObserved = counts !== undefined || events !== undefined || telemetry !== undefined;
  const write = isObserved ? observedWrite({ write: own, get }, { counts, events, telemetry }) : own;
  // A store has parts of its own choice, and methods that need their own `this`.
  const bound = new Map<string | symbol, { readonly method: unknown; readonly own: unknown }>();
  return new Proxy(store, {
    get(target, name) {
      if (name === "write") return write;
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      const known = bound.get(name);
      if (known?.own === member) return known.method;
      const method: unknown = member.bind(target);
      bound.set(name, { method, own: member });
      return method;
    },
  });
}
