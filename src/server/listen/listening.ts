import type { JSONRPCNotification } from "@modelcontextprotocol/server";
import {
  linesNotification,
  taskNotification,
  type AcceptedListening,
  type SubscriptionId,
} from "../../generation/2026-07-28-listen.ts";
import type { LineFeed } from "./line-feed.ts";
import type { TaskFeed } from "./task-feed.ts";

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
  readonly lines: LineFeed;
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
    const ofLines: Pushes = {
      changed: () => lines.changed(),
      async next(subscription) {
        const grown = await lines.take();
        return grown && linesNotification(grown.uri, subscription);
      },
    };
    this.pushes = [...(ofTasks === undefined ? [] : [ofTasks]), ...(uris.length === 0 ? [] : [ofLines])];
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#feeds.tasks?.close();
    this.#feeds.lines.close();
    this.#onClose();
  }
}
