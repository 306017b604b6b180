import { rest } from "../../src/testing/clocks.ts";
import { text, type Handler, type Process } from "./harness.ts";

/** Measures from outside how many slots of a process are free: one that was lost, or counted twice, shows. */
export class SlotGauge {
  #running = 0;
  #gate = Promise.withResolvers<void>();

  /** To be registered as `gauge`. */
  readonly handler: Handler = async () => {
    this.#running++;
    await this.#gate.promise;
    this.#running--;
    return text("measured");
  };

  /** How many handlers of more than `limit` run at once while nothing else does. */
  async free(process: Process, limit = 1): Promise<number> {
    this.#gate = Promise.withResolvers();
    const ids = await Promise.all(Array.from({ length: limit + 3 }, () => process.callId("gauge")));
    await rest();
    const free = this.#running;
    this.#gate.resolve();
    for (const id of ids) await process.ended(id);
    return free;
  }
}
