import { hash } from "node:crypto";
import type { JSONRPCNotification } from "@modelcontextprotocol/server";
import type { TaskResource } from "../../generation/extensions.ts";
import type { Requestor, Runtime } from "../../runtime/runtime.ts";
import { isHidden } from "../../task/fault.ts";
import type { TaskRecord, TaskSnapshot } from "../../task/record.ts";
import { type LineReader, type ReadTask, taskOfResource } from "../task-resources.ts";
import { detailedTask, type DetailedTask, generation } from "../../generation/2026-07-28.ts";
import {
  linesNotification,
  type SubscriptionId,
  taskNotification,
  taskNotificationMethod,
} from "../../generation/2026-07-28-listen.ts";
import { pushed } from "../tracing.ts";

/**
 * What has changed of some tasks since one listener was last notified. It stores no states: a task is read when the listener can take it, so a
 * slow listener skips the states in between and costs no memory. A task that has ended is no longer followed once that was taken.
 *
 * ```ts
 * while (await feed.changed()) {
 *   const news = await feed.take();
 *   if (news !== undefined) await send(news);
 * }
 * ```
 */
abstract class Feed<Followed, News> {
  protected readonly runtime: Runtime;
  protected readonly followed = new Map<string, Followed>();
  /** In the order of their oldest change that was not taken, so that none delays the others. */
  readonly #changed = new Set<string>();
  /** Functions that cancel what `later` does. */
  readonly #timers = new Map<string, () => void>();
  #closed = false;
  #wake: () => void = () => undefined;

  constructor(runtime: Runtime) {
    this.runtime = runtime;
  }

  /** Where its task is. */
  protected abstract taskOf(key: string, followed: Followed): readonly [id: string, requestor: Requestor];

  /** What the listener does not know of this state yet. */
  protected abstract look(key: string, followed: Followed, snapshot: TaskSnapshot): News | undefined;

  protected abstract messageOf(news: News, subscription: SubscriptionId): JSONRPCNotification;

  protected get isClosed(): boolean {
    return this.#closed;
  }

  /** Waits until one may have changed; resolves with false once the feed is closed. */
  async changed(): Promise<boolean> {
    while (!this.#closed && this.#changed.size === 0) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return !this.#closed;
  }

  /**
   * What is new of the one that changed first; undefined if the listener would see no difference, or its task was deleted. Rejects if the read
   * fails, and then gives it again.
   */
  async take(): Promise<News | undefined> {
    const [key = ""] = this.#changed;
    const followed = this.followed.get(key);
    if (followed === undefined) return undefined;
    this.#changed.delete(key);
    const snapshot = await visible(this.runtime.get(...this.taskOf(key, followed))).catch(
      (error: unknown) => {
        this.mark(key);
        throw error;
      },
    );
    if (this.#closed || this.followed.get(key) !== followed) return undefined; // not any more
    if (snapshot === undefined) {
      this.remove(key);
      return undefined;
    }
    const news = this.look(key, followed, snapshot);
    if (snapshot.task.finishedAt !== null) this.remove(key);
    return news;
  }

  /** The same as a message of a subscription. */
  async next(subscription: SubscriptionId): Promise<JSONRPCNotification | undefined> {
    const news = await this.take();
    return news && this.messageOf(news, subscription);
  }

  remove(key: string): void {
    this.#timers.get(key)?.();
    this.#timers.delete(key);
    this.followed.delete(key);
    this.#changed.delete(key);
  }

  close(): void {
    this.#closed = true;
    for (const key of this.followed.keys()) this.remove(key);
    this.#wake();
  }

  protected mark(key: string): void {
    if (!this.followed.has(key)) return;
    this.#changed.add(key);
    this.#wake();
  }

  /** Runs `action` after the pause, in place of what was to run for the same one. */
  protected later(key: string, ms: number, action: () => void): void {
    this.#timers.get(key)?.();
    this.#timers.set(key, this.runtime.clock.after(ms, action));
  }
}

/** The pause before the same log or output is reported again, so that a handler that writes much costs little (ms). */
const reportPauseMs = 50;

/** A log or output that has more lines than its follower knows of, or the end of its task. */
export interface GrownLines {
  readonly uri: string;
  /** Those of its task. */
  readonly requiredScopes: readonly string[];
}

interface FollowedLines extends ReadTask {
  readonly list: TaskResource["list"];
  readonly unwatch: () => void;
  /** The number of its lines at the last look; undefined: report it in any case. */
  count: number | undefined;
  /** Whether it was just reported, and whether it has changed since. */
  pause: "none" | "begun" | "changed";
}

/** The logs and outputs that have grown, by their URIs. A slow follower gets one notification for many lines. */
export class LineFeed extends Feed<FollowedLines, GrownLines> {
  /** Those to follow once their task was found. */
  readonly #awaited = new Set<string>();

  get size(): number {
    return this.followed.size + this.#awaited.size;
  }

  follows(uri: string): boolean {
    return this.followed.has(uri) || this.#awaited.has(uri);
  }

  /**
   * Follows a log or output that `reader` may read. If it `isBehind`, its follower may have missed earlier lines. Resolves with its task,
   * or undefined if that is not the reader's.
   */
  async add(resource: TaskResource, reader: LineReader, isBehind = false): Promise<ReadTask | undefined> {
    const { uri, list } = resource;
    if (!this.follows(uri)) this.#awaited.add(uri);
    const found = await taskOfResource(this.runtime, resource, reader).catch((error: unknown) => {
      this.#awaited.delete(uri);
      throw error;
    });
    // Not where it is followed already, or was removed meanwhile.
    if (!this.#awaited.delete(uri) || found === undefined || this.isClosed) return found;
    const { task } = found;
    this.followed.set(uri, {
      ...found,
      list,
      // A follower that begins after the end is notified at once, since nothing more will come.
      count: isBehind || task.finishedAt !== null ? undefined : countOf(task, list),
      unwatch: this.runtime.watch([task.id], () => this.mark(uri)),
      pause: "none",
    });
    this.mark(uri); // read again, so that no change before it was watched is missed
    return found;
  }

  override remove(uri: string): void {
    this.#awaited.delete(uri);
    this.followed.get(uri)?.unwatch();
    super.remove(uri);
  }

  protected override taskOf(_uri: string, { task, requestor }: FollowedLines): [string, Requestor] {
    return [task.id, requestor];
  }

  protected override look(
    uri: string,
    followed: FollowedLines,
    { task }: TaskSnapshot,
  ): GrownLines | undefined {
    const count = countOf(task, followed.list);
    if (task.finishedAt === null && count === followed.count) return undefined;
    followed.count = count;
    followed.pause = "begun";
    this.later(uri, reportPauseMs, () => {
      const hasChanged = followed.pause === "changed";
      followed.pause = "none";
      if (hasChanged) this.mark(uri);
    });
    return { uri, requiredScopes: task.requiredScopes };
  }

  protected override messageOf({ uri }: GrownLines, subscription: SubscriptionId): JSONRPCNotification {
    return linesNotification(uri, subscription);
  }

  protected override mark(uri: string): void {
    const followed = this.followed.get(uri);
    if (followed === undefined || followed.pause === "none") super.mark(uri);
    else followed.pause = "changed";
  }
}

function countOf({ logged, outputs }: TaskRecord, list: TaskResource["list"]): number {
  return list === "log" ? logged : outputs;
}

/** The state that was taken last; null before the first. */
type Taken = { readonly digest: string; /** Of its record. */ readonly version: number } | null;

const shortestPauseMs = 1_000;
/** Clocks jump ahead, and laptops sleep, unless the clock says otherwise. */
const longestPauseMs = 3_600_000;

/** The tasks whose new state a listener does not have yet, by their ids: each state is as `tasks/get` would show it. */
export class TaskFeed extends Feed<Taken, DetailedTask> {
  /** The ids that are the requestor's, in the order in which they were asked for. */
  readonly accepted: readonly string[];
  readonly #requestor: Requestor;
  readonly #unwatch: () => void;

  /** Resolves with a feed that begins with the current state of each task; rejects if a read fails. */
  static async open(
    runtime: Runtime,
    owner: Omit<Requestor, "generation">,
    ids: readonly string[],
  ): Promise<TaskFeed> {
    const requestor = { generation, ...owner };
    // The snapshots are dropped at once: together, a thousand large results would not fit.
    const exists = async (id: string): Promise<boolean> =>
      (await visible(runtime.get(id, requestor))) !== undefined;
    const found = await Promise.all(ids.map(exists));
    return new TaskFeed(
      runtime,
      requestor,
      ids.filter((_, place) => found[place]),
    );
  }

  private constructor(runtime: Runtime, requestor: Requestor, accepted: readonly string[]) {
    super(runtime);
    this.accepted = accepted;
    this.#requestor = requestor;
    for (const id of accepted) {
      this.followed.set(id, null);
      this.mark(id); // read again when it is taken, so that no change before this line is missed
    }
    this.#unwatch = runtime.watch(accepted, (id) => this.mark(id));
  }

  override close(): void {
    this.#unwatch();
    super.close();
  }

  protected override taskOf(id: string): [string, Requestor] {
    return [id, this.#requestor];
  }

  protected override look(id: string, before: Taken, snapshot: TaskSnapshot): DetailedTask | undefined {
    const { version, updatedAt, finishedAt } = snapshot.task;
    const task = detailedTask(snapshot);
    const digest = hash("sha256", JSON.stringify(task), "base64");
    const isNews = digest !== before?.digest;
    // The first state is asked for, and a ttl that grows is no change of the task.
    if (isNews && before !== null && before.version !== version) pushed(this.runtime, updatedAt);
    this.followed.set(id, { digest, version });
    if (finishedAt === null) this.#lookAgain(id, snapshot.task);
    if (!isNews) return undefined;
    this.runtime.retrieved(snapshot.task, taskNotificationMethod);
    return task;
  }

  protected override messageOf(task: DetailedTask, subscription: SubscriptionId): JSONRPCNotification {
    return taskNotification(task, subscription);
  }

  /** Its ttl grows before it is over, which the store reports as no change: a look at half of what is left is early enough, and costs little. */
  #lookAgain(id: string, { createdAt, expiry: { ms } }: TaskRecord): void {
    const { clock } = this.runtime;
    if (ms === null) return;
    const leftMs = createdAt + ms - clock.now();
    const pauseMs = Math.min(Math.max(leftMs / 2, shortestPauseMs), clock.longestTimerMs ?? longestPauseMs);
    this.later(id, pauseMs, () => this.mark(id));
  }
}

/** Undefined for what its requestor may not see, or is gone. */
async function visible<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isHidden(error)) return undefined;
    throw error;
  }
}
