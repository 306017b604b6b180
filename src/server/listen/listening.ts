import type { JSONRPCNotification } from "@modelcontextprotocol/server";
import { HoldfastError, isHidden } from "../../task/fault.ts";
import {
  type AcceptedListening,
  readTaskIds,
  type SubscriptionId,
  type TaskListening,
} from "../../generation/2026-07-28-listen.ts";
import { LineFeed, TaskFeed } from "./feeds.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { lineReader } from "../2026-07-28/admission.ts";
import { PerPrincipal } from "../limits.ts";
import type { Owner } from "../request.ts";

/** When a stream may have ended, in ms. */
const retryAfterMs = 5_000;

/** Limits the streams on which each principal listens. Callers without a principal have a limit in total (`http/`). */
export class ListenSlots {
  readonly #max: number;
  readonly #used = new PerPrincipal<object>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Returns a function that releases the slot; throws `limit_reached` if the principal has none left. */
  acquire(principal: string | null): () => void {
    if (principal === null) return () => undefined;
    if (this.#used.count(principal) >= this.#max) {
      const message = `You already have ${this.#max} listen streams open. End one, or list more tasks on it.`;
      throw new HoldfastError("limit_reached", message, { data: { retryAfterMs } });
    }
    const slot = {};
    this.#used.add(principal, slot);
    return () => this.#used.remove(principal, slot);
  }
}

/** What is pushed to a listener, message by message: the next one is made when the one before was taken. */
type Pushes = Pick<TaskFeed | LineFeed, "changed" | "next" | "close">;

/** What a listen request gets besides the SDK's answer: changes of tasks, and of their logs and outputs. */
export class Listening {
  readonly accepted: AcceptedListening;
  /** How many that were named are not listened to, since they are none of the listener's. */
  readonly missed: number;
  readonly #feeds: readonly Pushes[];
  readonly #onClose: () => void;
  #isOpen = true;

  constructor(
    feeds: readonly Pushes[],
    { accepted, missed }: Pick<Listening, "accepted" | "missed">,
    onClose: () => void,
  ) {
    this.#feeds = feeds;
    this.accepted = accepted;
    this.missed = missed;
    this.#onClose = onClose;
  }

  /**
   * Has `send` make and send each message when its client can take it, until this is closed. Tasks and their lines do not wait for each other.
   * Rejects if a read fails.
   */
  async push(
    subscription: SubscriptionId,
    send: (next: () => Promise<JSONRPCNotification | undefined>) => Promise<void>,
  ): Promise<void> {
    const pushAll = async (feed: Pushes): Promise<void> => {
      while (await feed.changed()) await send(() => feed.next(subscription));
    };
    await Promise.all(this.#feeds.map(pushAll));
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const feed of this.#feeds) feed.close();
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
  const lines = new LineFeed(runtime);
  try {
    const isAccepted = async (resource: (typeof resources)[number]): Promise<boolean> => {
      try {
        return (await lines.add(resource, lineReader(owner))) !== undefined;
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
    const feeds = [...(tasks === undefined ? [] : [tasks]), ...(uris.length === 0 ? [] : [lines])];
    return new Listening(feeds, { accepted: { taskIds: tasks?.accepted, uris }, missed }, release);
  } catch (error) {
    lines.close();
    release();
    throw error;
  }
}
