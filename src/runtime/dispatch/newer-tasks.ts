import { HoldfastError } from "../../task/fault.ts";
import { type TaskRecord, versionOf } from "../../task/record.ts";
import type { Services } from "../services.ts";
import type { Tool } from "../tool/tool.ts";
import { isLost } from "../../store/lost-store.ts";
import { type HandlerName, uniqueHandlers } from "../../task/queue.ts";
import { untilStoreAnswers } from "../observed-store.ts";

/** A newer process may first have to finish something else. If none comes, tasks are checked less and less often. */
const shortestMs = 5_000;
const longestMs = 30_000;
/** How long a process expects more of them after the last one. */
const latelyMs = 2 * longestMs;
/** A handler that must learn of a cancel has little time left. */
const cancelledMs = 1_000;

/** When tasks of a tool and a version were met, the first and the last time, by the time elapsed. */
interface Met {
  readonly since: number;
  readonly last: number;
}

/** Tasks that began under a newer version of their tool than this process has. It leaves them to newer processes. */
export class NewerTasks {
  readonly #services: Pick<Services, "clock" | "onError">;
  readonly #met = new Map<string, Met>();
  #lastMet = -Infinity;

  constructor(services: Pick<Services, "clock" | "onError">) {
    this.#services = services;
  }

  /** Whether such tasks were met recently, so that a newer process may be running and should come first. */
  get yields(): boolean {
    return this.#services.clock.elapsed() - this.#lastMet < latelyMs;
  }

  /** This process could not continue a task, which a process with other code should try before it does. */
  meetBlocked(): void {
    this.#lastMet = this.#services.clock.elapsed();
  }

  /** Whether no process has come for such tasks for as long as tools may be missing. */
  isMissing({ toolVersion }: Pick<TaskRecord, "toolVersion">, tool: Tool, graceMs: number): boolean {
    const met = this.#met.get(nameOf(tool, versionOf({ toolVersion })));
    return met !== undefined && met.last - met.since >= graceMs;
  }

  /** Until when such a task pauses (epoch ms). Each tool and version is reported once. */
  pauseUntil(task: TaskRecord, tool: Tool): number {
    const { clock } = this.#services;
    const now = clock.elapsed();
    this.#lastMet = now;
    const version = versionOf(task);
    const name = nameOf(tool, version);
    const met = this.#met.get(name);
    const since = met !== undefined && now - met.last < latelyMs ? met.since : now;
    this.#met.set(name, { since, last: now });
    if (met === undefined) this.#services.onError(newerVersion(tool, version));
    if (task.cancelRequestedAt !== null) return clock.now() + cancelledMs;
    return clock.now() + Math.min(Math.max(now - since, shortestMs), longestMs);
  }
}

function nameOf({ name }: Tool, version: number): string {
  return JSON.stringify([name, version]);
}

function newerVersion({ name, version: own }: Tool, version: number): HoldfastError {
  return new HoldfastError(
    "newer_version",
    `Some tasks of tool "${name}" have version ${version}, but this process has version ${own}, so it leaves them to newer processes. ` +
      `After a rollback, deploy version ${version} again; until then, or until they expire, they are blocked.`,
  );
}

export interface HandlerChangesSetup {
  readonly services: Pick<Services, "store" | "registry" | "clock" | "onError">;
  /** Called when tools have changed, since queued tasks may be for them. */
  readonly onChange: () => void;
  /** Called when the store has the current list of handlers. */
  readonly onStored: () => void;
}

/** Keeps the store's list of this process's handlers current while tools come and go. */
export class HandlerChanges {
  readonly #setup: HandlerChangesSetup;
  readonly #stopped = new AbortController();
  #unsubscribe: () => void = () => undefined;
  /** The handlers that the store knows. */
  #stored: readonly HandlerName[] = [];
  #isStoring = false;
  /** Whether others are to leave it the tasks of its tools. */
  #serves = true;

  constructor(setup: HandlerChangesSetup) {
    this.#setup = setup;
  }

  /** The store was opened with these. */
  start(stored: readonly HandlerName[]): void {
    const { services, onChange } = this.#setup;
    this.#stored = stored;
    this.#unsubscribe = services.registry.onChange(() => {
      onChange();
      void this.#store();
    });
    void this.#store(); // of what came while it was opened
  }

  /** Others take what is queued for this process while it does not serve. */
  serve(serves: boolean): void {
    this.#serves = serves;
    void this.#store();
  }

  stop(): void {
    this.#unsubscribe();
    this.#stopped.abort();
  }

  /** Requests other than calls are only answered here. */
  #handlers(): readonly HandlerName[] {
    return this.#setup.services.registry.handlers(this.#serves ? ["work"] : []);
  }

  async #store(): Promise<void> {
    if (this.#isStoring) return;
    this.#isStoring = true;
    const { services, onStored } = this.#setup;
    const { store, onError } = services;
    const { signal } = this.#stopped;
    try {
      for (let handlers = this.#handlers(); !isSame(handlers, this.#stored); handlers = this.#handlers()) {
        await untilStoreAnswers(() => store.setHandlers(handlers), services, signal);
        this.#stored = handlers;
        onStored();
      }
    } catch (error) {
      // A lost store is reported once, elsewhere.
      if (!signal.aborted && !isLost(error)) onError(error);
    } finally {
      this.#isStoring = false;
    }
  }
}

function isSame(a: readonly HandlerName[], b: readonly HandlerName[]): boolean {
  return a.length === b.length && uniqueHandlers([...a, ...b]).length === a.length;
}

/** Tools that operators have paused: no process starts their handlers. */
export class PausedTools {
  #names: ReadonlySet<string> = new Set();
  #onResumed: () => void = () => undefined;

  /** Called when a tool may start handlers again. */
  onResumed(listener: () => void): void {
    this.#onResumed = listener;
  }

  has(tool: string): boolean {
    return this.#names.has(tool);
  }

  /** The store's latest list. */
  set(names: readonly string[]): void {
    const before = this.#names;
    this.#names = new Set(names);
    if ([...before].some((name) => !this.#names.has(name))) this.#onResumed();
  }
}
