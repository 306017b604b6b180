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

/** The logs and outputs to which the client of a connection has subscribed: it is told when they have grown, and when their task ends. */
export class LineSubscriptions {
  readonly #setup: Setup;
  /** Undefined before the first subscription. */
  #feed: LineFeed | undefined;
  /** What the client could not be told yet, by URI. */
  readonly #untold = new Map<string, GrownLines>();

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
    this.#untold.delete(uri);
  }

  #open(): LineFeed {
    const { runtime, connection, onError } = this.#setup;
    const feed = new LineFeed(runtime);
    const stop = connection.streams.onStandalone((open) => {
      const untold = open ? [...this.#untold.values()] : []; // those that are kept again are not tried again
      for (const grown of untold) void this.#tell(grown);
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
      if (grown !== undefined) await this.#tell(grown);
    }
  }

  async #tell(grown: GrownLines): Promise<void> {
    const { connection } = this.#setup;
    const { uri } = grown;
    this.#untold.delete(uri);
    if (connection.isReached(grown)) {
      await connection.deliver(resourceUpdated, { uri }, undefined);
      return;
    }
    // Told when there is a stream for it. The oldest is forgotten where there are too many.
    this.#untold.set(uri, grown);
    const [oldest = uri] = this.#untold.keys();
    if (this.#untold.size > mostFollowedLists) this.#untold.delete(oldest);
  }
}

function tooMany(): HoldfastError {
  const message = `You follow ${mostFollowedLists} logs and outputs already: end a subscription by resources/unsubscribe.`;
  return new HoldfastError("limit_reached", message);
}
