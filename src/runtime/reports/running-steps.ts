/** A step that runs, as it is reported to the store. */
export interface RunningStep {
  readonly taskId: string;
  readonly key: string;
  /** When it was first tried (epoch ms). */
  readonly begunAt: number;
  /** How often it has failed before. */
  readonly tries: number;
}

/** The steps that run in this process: their journals have nothing of them until they end. */
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
