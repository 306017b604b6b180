/** A step that runs, or a file that is stored, as it is reported to the store. */
export interface RunningStep {
  readonly taskId: string;
  readonly key: string;
  readonly kind?: "step" | "artifact";
  /** When it was first tried (epoch ms). */
  readonly begunAt: number;
  /** How often it has failed before. */
  readonly tries: number;
}

/** What runs in this process: journals have nothing of it until it ends. */
export class RunningSteps {
  /** In the order in which they began. */
  readonly #running = new Set<RunningStep>();

  async during<T>(step: RunningStep, work: () => Promise<T>): Promise<T> {
    this.#running.add(step);
    try {
      return await work();
    } finally {
      this.#running.delete(step);
    }
  }

  /** Those that run longest, at most `limit`. */
  oldest(limit: number): readonly RunningStep[] {
    return [...this.#running].slice(0, limit);
  }
}
