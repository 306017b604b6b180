import { setTimeout as pause } from "node:timers/promises";
import type { TaskServer } from "../task-server.ts";
import type { Handler } from "./handler.ts";

/** How long clients may take to send the end of a request, and to read the end of what they listen to. */
const lastWordMs = 1_000;

/** What a handler is answering, and its end in order. */
export class OpenWork {
  readonly #server: TaskServer;
  readonly #handler: Handler;
  readonly #answers = new OpenResponses();
  /** They have no end of their own; closing the handler ends them. */
  readonly #streams = new OpenResponses();
  #closing: Promise<void> | undefined;

  constructor(server: TaskServer, handler: Handler) {
    this.#server = server;
    this.#handler = handler;
  }

  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  /** Counts a response until the returned function is called. */
  begin(isEndless: boolean): () => void {
    return (isEndless ? this.#streams : this.#answers).begin();
  }

  /** Lets answers and tasks end, for `stopDeadlineMs` in all, then ends the streams and stops the tasks. Idempotent. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    const server = this.#server;
    const handler = this.#handler;
    server.drain();
    const leftMs = await this.#answers.drained({
      deadlineMs: server.options.stopDeadlineMs,
      waiting: () => server.waiting,
      unsent: () => handler.receiving + handler.asking,
    });
    await handler.close();
    // The message that it has ended is still on its way to listeners.
    await Promise.all([this.#streams.drained({ deadlineMs: lastWordMs }), server.stop(leftMs)]);
  }
}

/** How soon the end of the last response is noticed. */
const lookMs = 10;

/** What to wait for, and how long. */
interface Draining {
  readonly deadlineMs: number;
  /** How many responses wait for something that may take any time. */
  readonly waiting?: () => number;
  /** How many wait for more from their clients: the rest of a request, or another one. These have `lastWordMs`. */
  readonly unsent?: () => number;
}

/** Counts the responses that are not finished, so that a server can end when there are none. */
class OpenResponses {
  #open = 0;

  /** Counts one more; call the returned function once when it has ended. */
  begin(): () => void {
    this.#open += 1;
    return () => void (this.#open -= 1);
  }

  /** Resolves when all others have finished, at the latest at the deadline, with the milliseconds that are left until then. */
  async drained({ deadlineMs, waiting, unsent }: Draining): Promise<number> {
    const start = performance.now();
    // A request that begins to wait is no event here, and this is no hot path.
    for (;;) {
      const passed = performance.now() - start;
      const late = passed < lastWordMs ? 0 : (unsent?.() ?? 0);
      if (this.#open <= (waiting?.() ?? 0) + late || passed >= deadlineMs) {
        return Math.max(0, Math.floor(deadlineMs - passed));
      }
      await pause(Math.min(deadlineMs, lookMs));
    }
  }
}
