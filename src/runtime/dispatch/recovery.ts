import { errorOutcome } from "../../task/outcome.ts";
import { type TaskRecord, versionOf } from "../../task/record.ts";
import { type Ending, endingOf } from "../../task/status-text.ts";
import { blamedCrashes } from "../../task/suspicion.ts";
import { blocking, type Refusal } from "../blocking.ts";
import type { RuntimeSettings } from "../options.ts";
import { isRepeatable, type Tool } from "../tool/tool.ts";
import { toolAtVersion } from "../tool/tool-config.ts";
import { isUnreadable } from "../../task/fault.ts";
import type { HandlerName } from "../../task/queue.ts";
import type { Services } from "../services.ts";
import { isLost } from "../../store/lost-store.ts";

/** What to do with a claimed task. */
export type ClaimPlan =
  | { readonly do: "run"; readonly tool: Tool }
  /** It began under a newer version of the tool. */
  | { readonly do: "leave" }
  /** It has expired, and no sweep has ended it yet. */
  | { readonly do: "end" }
  | { readonly do: "cancel" }
  | { readonly do: "fail"; readonly ending: Ending };

/** Applies a tool's `onCrash` and the limit on crashes (guarantee 5). */
export function planClaimed(
  task: TaskRecord,
  tool: Tool,
  { maxCrashes }: Pick<RuntimeSettings, "maxCrashes">,
  isDue: boolean,
): ClaimPlan {
  if (isDue) return { do: "end" };
  const runs = toolAtVersion(tool, versionOf(task));
  // The newer version of the tool decides what happens to it.
  if (runs === undefined) return { do: "leave" };
  const isCancelled = task.cancelRequestedAt !== null;
  // Its handler runs with its signal aborted, so that it can stop what it started elsewhere.
  if (isCancelled && !(mayHaveBegun(task, tool) && mayRun(task, tool))) return { do: "cancel" };
  if (blamedCrashes(task) >= maxCrashes) {
    return fail(
      `Gave up: the server crashed ${task.crashes} times in a row while this task was running, without any progress in between.`,
    );
  }
  if (!mayRun(task, tool)) {
    return fail(interrupted(task.tool));
  }
  return { do: "run", tool: runs };
}

/** Why a task is blocked whose tool did not come back within the grace period. */
function toolMissing(tool: string): Refusal {
  const problem = `No process has the tool "${tool}".`;
  return { reason: "tool", problem, key: null, was: `the tool "${tool}"`, is: null, version: null };
}

/** Why a task is blocked for whose version no process came within the grace period. */
export function versionMissing(task: Pick<TaskRecord, "toolVersion">, { name, version }: Tool): Refusal {
  const began = versionOf(task);
  const problem = `The task began with version ${began} of the tool "${name}", which no process has.`;
  return {
    reason: "version",
    problem,
    key: null,
    was: `version ${began}`,
    is: `version ${version}`,
    version,
  };
}

/** Why a task that cannot run again fails. */
export function interrupted(tool: string): string {
  return `The server stopped while "${tool}" was running. The tool is not marked as safe to run again, so it was not run again. It may have done part of its work.`;
}

/**
 * Whether an earlier attempt may have begun what its handler would have to stop. A tool that runs again in any case stores no mark before its
 * first step.
 */
export function mayHaveBegun({ journalled, attempt }: TaskRecord, { onCrash }: Tool): boolean {
  return journalled || (onCrash === "resume" && attempt > 1);
}

/** Whether the tool allows the task to run, possibly again. */
export function mayRun(task: TaskRecord, tool: Tool): boolean {
  const isFirstAttempt = task.attempt === 1;
  if (isFirstAttempt || tool.onCrash === "resume") return true;
  if (tool.onCrash === "fail") return false;
  return isRepeatable(tool) || task.journalled || tool.retry !== undefined;
}

function fail(message: string): ClaimPlan {
  return { do: "fail", ending: failure(message) };
}

function failure(message: string): Ending {
  return endingOf(errorOutcome({ code: -32603, message }));
}

/** Maximum number of tasks read, and blocked, at a time. */
const page = 500;

const shortestPauseMs = 1_000;

/**
 * Blocks queued tasks whose tool no process on the store has. They wait for a grace period first, because the next process may have the
 * tool.
 */
export class Orphans {
  readonly #services: Services;
  #seen: ReadonlySet<string> = new Set();
  #cancelTimer: () => void = () => undefined;
  #isLooking = false;
  #stopped = false;

  constructor(services: Services) {
    this.#services = services;
  }

  async start(): Promise<void> {
    await this.#look();
    if (this.#stopped) return;
    const { clock, options } = this.#services;
    const graceMs = options.unregisteredGraceMs;
    const look = (): void => void this.#blockSeen();
    this.#cancelTimer = clock.after(graceMs, () => {
      this.#cancelTimer = clock.every(Math.max(graceMs, shortestPauseMs), look);
      look();
    });
  }

  /** Other processes may have started: if a tool was there for a while, its grace period starts again. */
  onOthers(): void {
    if (this.#seen.size > 0) void this.#forgetServed();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTimer();
  }

  /** Blocks tasks from the last look that still have no tool. */
  async #blockSeen(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const before = this.#seen;
      for (const handler of await this.#look()) {
        if (before.has(nameOf(handler))) await this.#blockAll(handler);
      }
    } catch (error) {
      if (!this.#stopped) this.#services.onError(error);
    }
    this.#isLooking = false;
  }

  async #look(): Promise<readonly HandlerName[]> {
    const orphaned = await this.#services.store.orphanedHandlers();
    this.#seen = new Set(orphaned.map(nameOf));
    return orphaned;
  }

  async #forgetServed(): Promise<void> {
    try {
      const orphaned = new Set((await this.#services.store.orphanedHandlers()).map(nameOf));
      this.#seen = new Set([...this.#seen].filter((name) => orphaned.has(name)));
    } catch (error) {
      if (!this.#stopped) this.#services.onError(error);
    }
  }

  async #blockAll(handler: HandlerName): Promise<void> {
    for (const blocked of [true, false]) {
      for (let after = ""; !this.#stopped;) {
        const ids = await this.#services.store.queued(handler, { after, limit: page, blocked });
        await Promise.all(ids.map((id) => this.#block(id, handler.tool)));
        const last = ids.at(-1);
        if (last === undefined || ids.length < page) break;
        after = last;
      }
    }
  }

  /** Fails a task that was blocked for too long. */
  async #block(id: string, tool: string): Promise<void> {
    const { store, clock, unreadable } = this.#services;
    try {
      const task = await store.get(id);
      if (task?.state !== "queued") return;
      const now = clock.now();
      const what = blocking(toolMissing(tool), task, this.#services);
      if (!("block" in what)) await store.write<"fail">({ type: "fail", now, id, ...what, orphaned: true });
      else if (task.blocked?.reason !== "tool") await store.write({ type: "orphan", now, id, ...what });
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      unreadable.report(id, error);
    }
  }
}

function nameOf({ method, tool }: HandlerName): string {
  return JSON.stringify([method, tool]);
}

/** Tries blocked tasks again when this process starts, and when its tools change: its code may be able to continue them. */
export class BlockedTasks {
  readonly #services: Services;
  readonly #onClaimable: () => void;
  #stopped = false;
  #looking = false;
  #again = false;

  /** `onClaimable` is called when there may be tasks to claim. */
  constructor(services: Services, onClaimable: () => void) {
    this.#services = services;
    this.#onClaimable = onClaimable;
  }

  stop(): void {
    this.#stopped = true;
  }

  /** This process has tools that it did not have before, or others under their names. */
  async retry(): Promise<void> {
    this.#again = true;
    if (this.#looking) return;
    this.#looking = true;
    const { registry, options, onError } = this.#services;
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        for (const handler of registry.handlers(options.roles)) await this.#retryAll(handler);
      }
    } catch (error) {
      if (!this.#stopped && !isLost(error)) onError(error); // by themselves they are tried again, too
    } finally {
      this.#looking = false;
    }
  }

  async #retryAll(handler: HandlerName): Promise<void> {
    const { store } = this.#services;
    for (let after = ""; !this.#stopped;) {
      const ids = await store.queued(handler, { after, limit: page, blocked: true });
      await Promise.all(ids.map((id) => this.#retry(id)));
      if (ids.length > 0) this.#onClaimable();
      const last = ids.at(-1);
      if (last === undefined || ids.length < page) return;
      after = last;
    }
  }

  async #retry(id: string): Promise<void> {
    const { store, clock, unreadable } = this.#services;
    try {
      await store.write({ type: "unblock", now: clock.now(), id });
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      unreadable.report(id, error);
    }
  }
}
