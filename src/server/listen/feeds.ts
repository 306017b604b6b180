import { hash } from "node:crypto";
import type { TaskResource } from "../../generation/extensions.ts";
import type { Requestor, Runtime } from "../../runtime/runtime.ts";
import { isHidden } from "../../task/fault.ts";
import type { TaskRecord, TaskSnapshot } from "../../task/record.ts";
import { type LineReader, type ReadTask, taskOfResource } from "../task-resources.ts";
import { detailedTask, type DetailedTask, generation } from "../../generation/2026-07-28.ts";
import { taskNotificationMethod } from "../../generation/2026-07-28-listen.ts";
import { pushed } from "../tracing.ts";

/** The pause before the same log or output is reported again, so that a handler that writes much costs little (ms). */
const reportPauseMs = 50;

/** A log or output that has more lines than its follower knows of, or the end of its task. */
export interface GrownLines {
  readonly uri: string;
  /** Those of its task. */
  readonly requiredScopes: readonly string[];
}

interface Followed extends ReadTask {
  readonly resource: TaskResource;
  readonly unwatch: () => void;
  /** The number of its lines at the last look; undefined: report it in any case. */
  count: number | undefined;
  /** Ends the pause after a report, without another look; undefined: there is none. */
  endPause: (() => void) | undefined;
  changedInPause: boolean;
}

/**
 * The logs and outputs that have grown since one follower was last notified. It stores no lines: a slow follower gets one notification for
 * many lines. After the notification of its task's end, a list is no longer followed.
 *
 * ```ts
 * while (await feed.changed()) {
 *   const grown = await feed.take();
 *   if (grown !== undefined) await send(grown.uri);
 * }
 * ```
 */
export class LineFeed {
  readonly #runtime: Runtime;
  /** By URI. */
  readonly #followed = new Map<string, Followed>();
  /** Those to follow once their task was found. */
  readonly #awaited = new Set<string>();
  /** The URIs of those that may have grown, the longest ago first. */
  readonly #changed = new Set<string>();
  #closed = false;
  #wake: () => void = () => undefined;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  get size(): number {
    return this.#followed.size + this.#awaited.size;
  }

  follows(uri: string): boolean {
    return this.#followed.has(uri) || this.#awaited.has(uri);
  }

  /**
   * Follows a log or output that `reader` may read. If it `isBehind`, its follower may have missed earlier lines. Resolves with its task,
   * or undefined if that is not the reader's.
   */
  async add(resource: TaskResource, reader: LineReader, isBehind = false): Promise<ReadTask | undefined> {
    const { uri, list } = resource;
    if (!this.follows(uri)) this.#awaited.add(uri);
    const found = await taskOfResource(this.#runtime, resource, reader).catch((error: unknown) => {
      this.#awaited.delete(uri);
      throw error;
    });
    // Not where it is followed already, or was removed meanwhile.
    if (!this.#awaited.delete(uri) || found === undefined || this.#closed) return found;
    const { task } = found;
    this.#followed.set(uri, {
      ...found,
      resource,
      // A follower that begins after the end is notified at once, since nothing more will come.
      count: isBehind || task.finishedAt !== null ? undefined : countOf(task, list),
      unwatch: this.#runtime.watch([task.id], () => this.#mark(uri)),
      endPause: undefined,
      changedInPause: false,
    });
    this.#mark(uri); // read again, so that no change before it was watched is missed
    return found;
  }

  remove(uri: string): void {
    this.#awaited.delete(uri);
    const followed = this.#followed.get(uri);
    followed?.unwatch();
    followed?.endPause?.();
    this.#followed.delete(uri);
    this.#changed.delete(uri);
  }

  /** Waits until one may have grown; resolves with false once the feed is closed. */
  async changed(): Promise<boolean> {
    while (!this.#closed && this.#changed.size === 0) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return !this.#closed;
  }

  /** The one that changed first; undefined if it has not grown. Rejects if the read fails, and then gives it again. */
  async take(): Promise<GrownLines | undefined> {
    const [uri = ""] = this.#changed;
    const followed = this.#followed.get(uri);
    if (followed === undefined) return undefined;
    this.#changed.delete(uri);
    const task = await this.#read(followed).catch((error: unknown) => {
      this.#mark(uri);
      throw error;
    });
    if (this.#followed.get(uri) !== followed) return undefined; // not any more
    if (task === undefined) {
      this.remove(uri);
      return undefined;
    }
    const count = countOf(task, followed.resource.list);
    const isOver = task.finishedAt !== null;
    if (!isOver && count === followed.count) return undefined;
    followed.count = count;
    if (isOver) this.remove(uri);
    else this.#pause(followed);
    return { uri, requiredScopes: task.requiredScopes };
  }

  close(): void {
    this.#closed = true;
    for (const uri of this.#followed.keys()) this.remove(uri);
    this.#wake();
  }

  /** Undefined for a task that was deleted. */
  async #read({ task: { id }, requestor }: Followed): Promise<TaskRecord | undefined> {
    try {
      return (await this.#runtime.get(id, requestor)).task;
    } catch (error) {
      if (isHidden(error)) return undefined;
      throw error;
    }
  }

  #mark(uri: string): void {
    const followed = this.#followed.get(uri);
    if (followed === undefined) return;
    if (followed.endPause !== undefined) {
      followed.changedInPause = true;
      return;
    }
    this.#changed.add(uri);
    this.#wake();
  }

  #pause(followed: Followed): void {
    followed.endPause = this.#runtime.clock.after(reportPauseMs, () => {
      followed.endPause = undefined;
      if (!followed.changedInPause) return;
      followed.changedInPause = false;
      this.#mark(followed.resource.uri);
    });
  }
}

function countOf({ logged, outputs }: TaskRecord, list: TaskResource["list"]): number {
  return list === "log" ? logged : outputs;
}

interface Taken {
  readonly digest: string;
  /** Of its record. */
  readonly version: number;
}

const shortestPauseMs = 1_000;
/** Clocks jump ahead, and laptops sleep, unless the clock says otherwise. */
const longestPauseMs = 3_600_000;

/**
 * The tasks that changed and whose new state a listener does not have yet. It stores ids only: a task is read when the
 * listener can take it, so a slow listener skips the states in between and costs no memory.
 *
 * ```ts
 * while (await feed.changed()) {
 *   const task = await feed.take();
 *   if (task !== undefined) await send(task);
 * }
 * ```
 */
export class TaskFeed {
  /** The ids that are the requestor's, in the order in which they were asked for. */
  readonly accepted: readonly string[];
  readonly #runtime: Runtime;
  readonly #requestor: Requestor;
  /** Tasks that can still change, with the state that was taken last; undefined before the first. */
  readonly #taken: Map<string, Taken | undefined>;
  /** In the order of their oldest change that was not taken, so that no task delays the others. */
  readonly #changed: Set<string>;
  /** Functions that cancel the next look at a task whose ttl may grow, which the store does not report as a change. */
  readonly #looks = new Map<string, () => void>();
  readonly #unwatch: () => void;
  #closed = false;
  #wake: () => void = () => undefined;

  /** Resolves with a feed that begins with the current state of each task; rejects if a read fails. */
  static async open(
    runtime: Runtime,
    owner: Omit<Requestor, "generation">,
    ids: readonly string[],
  ): Promise<TaskFeed> {
    const requestor = { generation, ...owner };
    // The snapshots are dropped at once: together, a thousand large results would not fit.
    const exists = async (id: string): Promise<boolean> =>
      (await snapshotOf(runtime, id, requestor)) !== undefined;
    const found = await Promise.all(ids.map(exists));
    return new TaskFeed(
      runtime,
      requestor,
      ids.filter((_, place) => found[place]),
    );
  }

  private constructor(runtime: Runtime, requestor: Requestor, accepted: readonly string[]) {
    this.accepted = accepted;
    this.#runtime = runtime;
    this.#requestor = requestor;
    this.#taken = new Map(accepted.map((id) => [id, undefined]));
    // All are read again when they are taken, so that no change before this line is missed.
    this.#changed = new Set(accepted);
    this.#unwatch = runtime.watch(accepted, (id) => {
      if (this.#taken.has(id)) this.#mark(id);
    });
  }

  /** Waits until a task has changed; resolves with false once the feed is closed. */
  async changed(): Promise<boolean> {
    while (!this.#closed && this.#changed.size === 0) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return !this.#closed;
  }

  /**
   * The newest state of the task that changed first, as `tasks/get` would show it; undefined if the listener would see no difference, and
   * if the task was deleted. Rejects if the read fails.
   */
  async take(): Promise<DetailedTask | undefined> {
    const [id] = this.#changed;
    if (id === undefined) return undefined;
    this.#changed.delete(id);
    const snapshot = await snapshotOf(this.#runtime, id, this.#requestor);
    if (this.#closed) return undefined;
    if (snapshot === undefined) {
      this.#forget(id);
      return undefined;
    }
    const task = detailedTask(snapshot);
    const digest = hash("sha256", JSON.stringify(task), "base64");
    const before = this.#taken.get(id);
    const isNews = digest !== before?.digest;
    const { version, updatedAt } = snapshot.task;
    // The first state is asked for, and a ttl that grows is no change of the task.
    if (isNews && before !== undefined && before.version !== version) pushed(this.#runtime, updatedAt);
    if (snapshot.task.finishedAt === null) {
      this.#taken.set(id, { digest, version });
      this.#lookAgain(id, snapshot.task);
    } else this.#forget(id); // it never changes again
    if (!isNews) return undefined;
    this.#runtime.retrieved(snapshot.task, taskNotificationMethod);
    return task;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#unwatch();
    for (const cancelTimer of this.#looks.values()) cancelTimer();
    this.#wake();
  }

  #mark(id: string): void {
    this.#changed.add(id);
    this.#wake();
  }

  /** Its ttl grows before it is over: a look at half of what is left of it is early enough, and costs little. */
  #lookAgain(id: string, { createdAt, expiry: { ms } }: TaskRecord): void {
    const { clock } = this.#runtime;
    this.#looks.get(id)?.();
    if (ms === null) return;
    const leftMs = createdAt + ms - clock.now();
    const pauseMs = Math.min(Math.max(leftMs / 2, shortestPauseMs), clock.longestTimerMs ?? longestPauseMs);
    this.#looks.set(
      id,
      clock.after(pauseMs, () => this.#mark(id)),
    );
  }

  #forget(id: string): void {
    this.#looks.get(id)?.();
    this.#looks.delete(id);
    this.#taken.delete(id);
    this.#changed.delete(id);
  }
}

async function snapshotOf(
  runtime: Runtime,
  id: string,
  requestor: Requestor,
): Promise<TaskSnapshot | undefined> {
  try {
    return await runtime.get(id, requestor);
  } catch (error) {
    if (isHidden(error)) return undefined;
    throw error;
  }
}
