import type { Clock } from "../../../runtime/clock.ts";
import { Shares, type Holder } from "../../shares.ts";

/** Of all principals together; beyond it, the oldest of the one with most of them go before their time. */
const mostBroken = 10_000;

export interface BrokenRequestsSetup {
  readonly clock: Clock;
  /** How long a client may take to come back, in milliseconds. */
  readonly resumeMs: number;
  /** Of one principal; beyond it, its oldest go before their time. */
  readonly maxPerHolder: number;
  readonly max?: number;
}

interface Broken {
  readonly lose: () => void;
}

/** Requests without a connection, as long as their clients may still come back for the answers. */
export class BrokenRequests {
  readonly #setup: BrokenRequestsSetup;
  readonly #shares = new Shares<Broken>();

  constructor(setup: BrokenRequestsSetup) {
    this.#setup = setup;
  }

  get size(): number {
    return this.#shares.size;
  }

  /** Calls `lost` once if the client does not come back; returns the way to say that it did, or needs not any more. */
  add(holder: Holder, lost: () => void): () => void {
    const { clock, resumeMs, maxPerHolder, max = mostBroken } = this.#setup;
    const returned = (): void => {
      callOff();
      this.#shares.remove(holder, broken);
    };
    const lose = (): void => {
      returned();
      lost();
    };
    const callOff = clock.after(resumeMs, lose);
    const broken: Broken = { lose };
    this.#shares.add(holder, broken);
    const own = this.#shares.of(holder);
    const tooMany = holder !== null && own.size > maxPerHolder ? own : undefined;
    const [oldest] = tooMany ?? (this.#shares.size > max ? this.#shares.largest : []);
    oldest?.lose();
    return returned;
  }
}
