import { takeOver, type OnRestart, type TakenTasks, type TakeOverServices } from "./restart.ts";

const pauseAfterErrorMs = 5000;

interface InheritanceServices extends TakeOverServices {
  readonly onError: (error: unknown) => void;
}

/** Takes over the tasks of lost processes, at the start and whenever there may be some. */
export class Inheritance {
  readonly #services: InheritanceServices;
  readonly #onRestart: OnRestart;
  readonly #taken: TakenTasks = new Map();
  #takingOver: Promise<void> | undefined;
  /** Whether there may be more than the last or current look finds. */
  #again = false;
  #cancelTimer: (() => void) | undefined;
  #open = false;

  constructor(services: InheritanceServices, onRestart: OnRestart) {
    this.#services = services;
    this.#onRestart = onRestart;
  }

  /** Resolves when all leftover tasks are taken over; rejects with what `onRestart` throws. */
  async start(): Promise<void> {
    this.#again = false;
    await takeOver(this.#services, this.#onRestart, this.#taken);
    this.#open = true;
    if (this.#again) this.look();
  }

  /** Call this when other processes may have left tasks. */
  readonly look = (): void => {
    this.#again = true;
    if (this.#open) this.#takingOver ??= this.#takeOver();
  };

  async stop(): Promise<void> {
    this.#open = false;
    this.#cancelTimer?.();
    await this.#takingOver;
  }

  async #takeOver(): Promise<void> {
    try {
      while (this.#again && this.#open) {
        this.#again = false;
        await takeOver(this.#services, this.#decide, this.#taken);
      }
    } catch (error) {
      this.#services.onError(error);
      this.#cancelTimer?.();
      this.#cancelTimer = this.#services.clock.after(pauseAfterErrorMs, this.look);
    }
    this.#takingOver = undefined;
  }

  /** At the start, the author sees what `onRestart` throws. Later nobody would, and the task must not wait forever. */
  readonly #decide: OnRestart = async (task) => {
    if (typeof this.#onRestart === "string") return this.#onRestart;
    try {
      return await this.#onRestart(task);
    } catch (error) {
      this.#services.onError(error);
      return "fail";
    }
  };
}
