import type { Clock } from "../../../runtime/clock.ts";
import { isPrincipal, PerPrincipal, type Share } from "../../per-principal.ts";

/** Of all principals together; beyond it, the principal with most loses its oldest early. */
const mostBroken = 10_000;

export interface BrokenRequestsSetup {
  readonly clock: Clock;
  /** How long a client may take to resume, in ms. */
  readonly resumeMs: number;
  /** Of one principal; beyond it, its oldest are lost early. */
  readonly maxPerPrincipal: number;
  readonly max?: number;
}

interface Broken {
  readonly lose: () => void;
}

/** Requests whose connections broke, while their clients may still resume. */
export class BrokenRequests {
  readonly #setup: BrokenRequestsSetup;
  readonly #broken = new PerPrincipal<Broken>();

  constructor(setup: BrokenRequestsSetup) {
    this.#setup = setup;
  }

  get size(): number {
    return this.#broken.size;
  }

  /** Calls `lost` once if the client does not resume in time; returns a function that ends the wait. */
  add(share: Share, lost: () => void): () => void {
    const { clock, resumeMs, maxPerPrincipal, max = mostBroken } = this.#setup;
    const end = (): void => {
      cancelTimer();
      this.#broken.remove(share, broken);
    };
    const lose = (): void => {
      end();
      lost();
    };
    const cancelTimer = clock.after(resumeMs, lose);
    const broken: Broken = { lose };
    this.#broken.add(share, broken);
    const own = this.#broken.of(share);
    const tooMany = isPrincipal(share) && own.size > maxPerPrincipal ? own : undefined;
    const [oldest] = tooMany ?? (this.#broken.size > max ? this.#broken.largest : []);
    oldest?.lose();
    return end;
  }
}
