import { isLost } from "../../store/lost-store.ts";
import type { DrainState } from "../reports/process-report.ts";
import type { Attempts } from "../execution/attempts.ts";
import type { Services } from "../services.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import type { BlockedTasks } from "./recovery.ts";
import type { Creation } from "./creation.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { HandlerChanges } from "./newer-tasks.ts";

export interface DrainSetup {
  readonly services: Services;
  readonly dispatcher: Dispatcher;
  readonly attempts: Attempts;
  readonly creation: Pick<Creation, "direct">;
  readonly webhooks: Webhooks;
  readonly handlerChanges: HandlerChanges;
  readonly blocked: Pick<BlockedTasks, "retry">;
  /** Operators are to learn how far it is. */
  readonly onProgress: () => void;
}

/**
 * Whether this process takes new work. It stops to when its server stops, which is for good, and when an operator drains it:
 * - It claims nothing and sends no webhooks, and others may claim what is queued for it, as if it had no tools.
 * - Tasks go back to the queue where their handlers wait, or reach their next journalled call. At the time that the operator gave, the rest
 *   goes back too.
 * - The store says so at each renewal, and operators learn from the reports of the process when nothing is left.
 */
export class Drain {
  readonly #setup: DrainSetup;
  #offWork: (() => void) | undefined;
  #stops = false;
  #until: number | undefined;
  /** What operators were last told. */
  #said: number | undefined;

  constructor(setup: DrainSetup) {
    this.#setup = setup;
  }

  /** Whether it takes nothing new. */
  get isOn(): boolean {
    return this.#stops || this.#until !== undefined;
  }

  /** Undefined unless operators drain it. */
  get state(): DrainState | undefined {
    if (this.#until === undefined) return undefined;
    const { attempts, creation } = this.#setup;
    return { until: this.#until, left: attempts.count + creation.direct };
  }

  /** Takes work from now on, unless the server already stops. */
  start(): void {
    if (this.#stops) return;
    this.#listen();
    this.#setup.webhooks.start();
  }

  /** The server stops: nothing is offered to it any more. */
  end(): void {
    this.#stops = true;
    this.#offWork?.();
  }

  /** The server will stop: its handlers end early, and all else goes on. */
  stop(): void {
    this.end();
    this.#release();
  }

  /** What the store says: by when what runs here is to have ended (epoch ms), or nothing. */
  look(until: number | undefined): void {
    const before = this.#until;
    this.#until = until;
    if (this.#stops) return;
    if (until === undefined) {
      if (before !== undefined) this.#goOn();
      return;
    }
    const { attempts, webhooks, handlerChanges, services, onProgress } = this.#setup;
    if (before === undefined) {
      this.#release();
      webhooks.rest();
      handlerChanges.serve(false);
    }
    if (services.clock.now() >= until) this.#report(attempts.release());
    const { left } = this.state ?? {};
    if (before === until && left === this.#said) return;
    this.#said = left;
    onProgress();
  }

  #release(): void {
    const { dispatcher, attempts } = this.#setup;
    this.#offWork?.();
    dispatcher.pause();
    attempts.drain();
  }

  #goOn(): void {
    const { attempts, dispatcher, webhooks, handlerChanges, blocked, onProgress } = this.#setup;
    attempts.goOn();
    handlerChanges.serve(true);
    webhooks.goOn();
    this.#listen();
    dispatcher.goOn();
    this.#report(blocked.retry());
    onProgress();
  }

  #listen(): void {
    const { services, dispatcher } = this.#setup;
    if (services.options.roles.includes("work"))
      this.#offWork = services.store.onWork?.((tasks) => dispatcher.takeWork(tasks));
  }

  #report(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      if (!isLost(error)) this.#setup.services.onError(error);
    });
  }
}
