import type { JSONRPCNotification } from "@modelcontextprotocol/server";
import { HoldfastError, isHidden } from "../../task/fault.ts";
import {
  type AcceptedListening,
  linesNotification,
  readTaskIds,
  type SubscriptionId,
  type TaskListening,
  taskNotification,
} from "../../generation/2026-07-28-listen.ts";
import { LineFeed, TaskFeed } from "./feeds.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { lineReader } from "../2026-07-28/admission.ts";
import type { Owner } from "../request.ts";

/** When a stream may have ended, in ms. */
const retryAfterMs = 5_000;

/** Limits the streams on which each principal listens. Callers without a principal have a limit in total (`http/`). */
export class ListenSlots {
  readonly #max: number;
  readonly #used = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Returns a function that releases the slot, once; throws `limit_reached` if the principal has none left. */
  acquire(principal: string | null): () => void {
    if (principal === null) return () => undefined;
    const used = this.#used.get(principal) ?? 0;
    if (used >= this.#max) {
      const message = `You already have ${this.#max} listen streams open. End one, or list more tasks on it.`;
      throw new HoldfastError("limit_reached", message, { data: { retryAfterMs } });
    }
    this.#used.set(principal, used + 1);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const remaining = (this.#used.get(principal) ?? 1) - 1;
      if (remaining === 0) this.#used.delete(principal);
      else this.#used.set(principal, remaining);
    };
  }
}

/** What is pushed to one listener, message by message: the next one is made when the one before was taken. */
interface Pushes {
  /** Waits until there may be a message; resolves with false at the end. */
  changed(): Promise<boolean>;
  /** The next message of the subscription; undefined if there is none. Rejects if a read fails. */
  next(subscription: SubscriptionId): Promise<JSONRPCNotification | undefined>;
}

interface Feeds {
  /** Undefined if the request names no tasks. */
  readonly tasks: TaskFeed | undefined;
  /** Undefined if the request names no logs and outputs. */
  readonly lines: LineFeed | undefined;
  /** The logs and outputs that it follows. */
  readonly uris: readonly string[];
  readonly missed: number;
}

/** What a listen request gets besides the SDK's answer: changes of tasks, and of their logs and outputs. */
export class Listening {
  readonly accepted: AcceptedListening;
  /** They do not wait for each other. */
  readonly pushes: readonly Pushes[];
  /** How many that were named are not listened to, since they are none of the listener's. */
  readonly missed: number;
  readonly #feeds: Feeds;
  readonly #onClose: () => void;
  #isOpen = true;

  constructor(feeds: Feeds, onClose: () => void) {
    const { tasks, lines, uris, missed } = feeds;
    this.#feeds = feeds;
    this.#onClose = onClose;
    this.missed = missed;
    this.accepted = { taskIds: tasks?.accepted, uris };
    const ofTasks: Pushes | undefined = tasks && {
      changed: () => tasks.changed(),
      async next(subscription) {
        const task = await tasks.take();
        return task && taskNotification(task, subscription);
      },
    };
    const ofLines: Pushes | undefined = lines && {
      changed: () => lines.changed(),
      async next(subscription) {
        const grown = await lines.take();
        return grown && linesNotification(grown.uri, subscription);
      },
    };
    this.pushes = [ofTasks, uris.length === 0 ? undefined : ofLines].filter((each) => each !== undefined);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#feeds.tasks?.close();
    this.#feeds.lines?.close();
    this.#onClose();
  }
}

interface Terms {
  readonly runtime: Runtime;
  readonly slots: ListenSlots;
  /** How many tasks, logs and outputs one request may name. */
  readonly maxIdsPerListen: number;
}

/** The answer to a listen request; rejects with `invalid_params` and `limit_reached`, and if a read fails. */
export async function openListening(
  { taskIds, resources }: TaskListening,
  owner: Owner,
  { runtime, slots, maxIdsPerListen }: Terms,
): Promise<Listening> {
  const ids = readTaskIds(taskIds === undefined ? [] : taskIds, resources.length, maxIdsPerListen);
  const { principal, access } = owner;
  const release = slots.acquire(principal);
  const lines = resources.length === 0 ? undefined : new LineFeed(runtime);
  try {
    const isAccepted = async (resource: (typeof resources)[number]): Promise<boolean> => {
      try {
        return (await lines?.add(resource, lineReader(owner))) !== undefined;
      } catch (error) {
        if (isHidden(error)) return false;
        throw error;
      }
    };
    const accepted = await Promise.all(resources.map(isAccepted));
    const uris = resources.filter((_, place) => accepted[place]).map(({ uri }) => uri);
    const tasks =
      taskIds === undefined
        ? undefined
        : await TaskFeed.open(runtime, { principal, scopes: access?.scopes }, ids);
    const missed = ids.length - (tasks?.accepted.length ?? 0) + resources.length - uris.length;
    return new Listening({ tasks, lines, uris, missed }, release);
  } catch (error) {
    lines?.close();
    release();
    throw error;
  }
}
