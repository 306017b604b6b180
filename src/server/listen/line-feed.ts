import type { TaskResource } from "../../generation/extensions.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { isHidden } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import { taskOfResource, type LineReader, type ReadTask } from "../task-resources.ts";

/** The pause before the same log or output is reported again, so that a handler that writes much costs little (ms). */
const pauseMs = 50;

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
    followed.endPause = this.#runtime.clock.after(pauseMs, () => {
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
