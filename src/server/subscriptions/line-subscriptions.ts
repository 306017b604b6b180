import { resourceUpdated, type TaskResource } from "../../generation/extensions.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { untilStoreAnswers } from "../../runtime/until-store-answers.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { Connection } from "../connection/connection.ts";
import { isStopping, type OnError } from "../faults.ts";
import { LineFeed, type GrownLines } from "../listen/line-feed.ts";
import { resourceNotFound, type LineReader } from "../task-resources.ts";

/** How many logs and outputs one connection follows. */
export const mostFollowedLists = 100;

interface Setup {
  readonly runtime: Runtime;
  readonly connection: Connection;
  readonly onError: OnError;
}

/** The logs and outputs to which the client of a connection has subscribed: it is notified when they have grown, and when their task ends. */
export class LineSubscriptions {
  readonly #setup: Setup;
  /** Undefined before the first subscription. */
  #feed: LineFeed | undefined;
  /** Notifications that could not be sent yet, by URI. */
  readonly #pending = new Map<string, GrownLines>();

  constructor(setup: Setup) {
    this.#setup = setup;
  }

  /** `isBehind`: as in `LineFeed.add`. Rejects for a task that is not the reader's, and with `limit_reached`. */
  async subscribe(resource: TaskResource, reader: LineReader, isBehind: boolean): Promise<void> {
    const { streams } = this.#setup.connection;
    const feed = (this.#feed ??= this.#open());
    if (feed.size >= mostFollowedLists && !feed.follows(resource.uri)) throw tooMany();
    const followed = await feed.add(resource, reader, isBehind);
    if (followed === undefined) throw resourceNotFound(resource.uri);
    streams.needs?.(followed.task.requiredScopes);
  }

  unsubscribe(uri: string): void {
    this.#feed?.remove(uri);
    this.#pending.delete(uri);
  }

  #open(): LineFeed {
    const { runtime, connection, onError } = this.#setup;
    const feed = new LineFeed(runtime);
    const stop = connection.streams.onStandalone((open) => {
      const pending = open ? [...this.#pending.values()] : []; // those that are kept again are not tried again
      for (const grown of pending) void this.#notify(grown);
    });
    const close = (): void => {
      stop();
      feed.close();
    };
    connection.closing.addEventListener("abort", close, { once: true });
    if (connection.closing.aborted) close();
    this.#push(feed).catch((error: unknown) => {
      if (!connection.closing.aborted && !isStopping(error)) onError(error);
    });
    return feed;
  }

  async #push(feed: LineFeed): Promise<void> {
    const { runtime, connection, onError } = this.#setup;
    const patience = { clock: runtime.clock, onError };
    while (await feed.changed()) {
      const grown = await untilStoreAnswers(() => feed.take(), patience, connection.closing);
      // One at a time, so that no more wait for a client that does not read.
      if (grown !== undefined) await this.#notify(grown);
    }
  }

  async #notify(grown: GrownLines): Promise<void> {
    const { connection } = this.#setup;
    const { uri } = grown;
    this.#pending.delete(uri);
    if (connection.isReached(grown)) {
      await connection.deliver(resourceUpdated, { uri }, undefined);
      return;
    }
    // Sent when there is a stream for it. If there are too many, the oldest is dropped.
    this.#pending.set(uri, grown);
    const [oldest = uri] = this.#pending.keys();
    if (this.#pending.size > mostFollowedLists) this.#pending.delete(oldest);
  }
}

function tooMany(): HoldfastError {
  const message = `You already follow ${mostFollowedLists} logs and outputs. End a subscription with resources/unsubscribe first.`;
  return new HoldfastError("limit_reached", message);
}
