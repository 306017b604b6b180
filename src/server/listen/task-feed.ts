import { hash } from "node:crypto";
import { generation, detailedTask, type DetailedTask } from "../../generation/2026-07-28.ts";
import { taskNotificationMethod } from "../../generation/2026-07-28-listen.ts";
import type { Requestor, Runtime } from "../../runtime/runtime.ts";
import { isHidden } from "../../task/fault.ts";
import { pushed } from "../tracing/pushed.ts";
import type { TaskRecord, TaskSnapshot } from "../../task/record.ts";

interface Taken {
  readonly digest: string;
  /** Of its record. */
  readonly version: number;
}

const shortestPauseMs = 1_000;
/** Clocks jump ahead, and laptops sleep. */
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
    const pauseMs = Math.min(Math.max(leftMs / 2, shortestPauseMs), longestPauseMs);
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
