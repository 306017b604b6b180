import type { Clock } from "../../runtime/clock.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { TaskServer } from "../task-server.ts";

/** How long a start that failed is not tried again, in ms: each attempt opens the store. */
const pauseMs = 1_000;

/** Starts the tasks when the first request needs them, and again when that failed. */
export class TaskStart {
  readonly #server: TaskServer;
  readonly #clock: Clock;
  #attempt: Promise<string | undefined> | undefined;
  #reported: unknown;

  constructor(server: TaskServer, clock: Clock) {
    this.#server = server;
    this.#clock = clock;
  }

  /** Resolves when the tasks have started, or with what to tell callers if they could not. Never rejects. */
  fault(): Promise<string | undefined> {
    return (this.#attempt ??= this.#start());
  }

  async #start(): Promise<string | undefined> {
    try {
      await this.#server.start();
      return undefined;
    } catch (error) {
      this.#clock.after(pauseMs, () => (this.#attempt = undefined));
      if (error instanceof HoldfastError && error.code === "stopping") return error.message;
      // A start that failed for good rejects with the same error each time.
      if (error !== this.#reported) this.#server.onError(error);
      this.#reported = error;
      return "The server could not start running tasks. Its log has the reason.";
    }
  }
}
