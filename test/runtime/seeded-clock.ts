import { seededRandom } from "../crash/random.ts";
import { FakeClock } from "../../src/testing/clocks.ts";

/** Ids and pauses come from its seed, so that what it drives takes the same course whenever that is repeated. */
export class SeededClock extends FakeClock {
  readonly #random: () => number;

  constructor(seed: number) {
    super();
    this.#random = seededRandom(seed);
  }

  override randomBytes(size: number): Uint8Array {
    return Uint8Array.from({ length: size }, () => Math.floor(this.#random() * 256));
  }

  override uniqueName(): string {
    return Buffer.from(this.randomBytes(16)).toString("hex");
  }
}
