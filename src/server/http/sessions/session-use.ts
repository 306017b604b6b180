import type { Clock } from "../../../runtime/clock.ts";

export interface SessionUseSetup {
  readonly clock: Clock;
  readonly idleMs: number;
  /** As `idleMs`, for a session that was not used after its handshake. */
  readonly unusedMs: number;
  /** Called when the session becomes idle, and when it is used again. */
  readonly onIdle: (idle: boolean) => void;
  /** Called when its idle time is over; `isUnused` says whether nothing has used it since. */
  readonly onOver: (isUnused: () => boolean) => void;
  /** Stores when it ends, since it is used. */
  readonly store: () => void;
}

/** How often in its idle time it is stored that a session was used. */
export const storedUses = 4;

/** What uses a session, and when it ends if nothing does. */
export class SessionUse {
  readonly #setup: SessionUseSetup;
  /** The first one is the handshake. */
  #requests = 0;
  #open = 0;
  #entered = 0;
  /** Undefined while it is used, and before. */
  #endsAt: number | undefined;
  /** By the time elapsed. */
  #storedAt: number;
  #isOver = false;
  #cancelIdle: () => void = () => undefined;

  constructor(setup: SessionUseSetup) {
    this.#setup = setup;
    this.#storedAt = setup.clock.elapsed();
  }

  /** Whether something came after the handshake. */
  get isUsed(): boolean {
    return this.#requests > 1;
  }

  /** When it ends unless it is used, in epoch milliseconds. */
  get endsAt(): number {
    return this.#endsAt ?? this.#setup.clock.now() + this.#leftMs;
  }

  /** It was used in another process. */
  goesOn(): void {
    this.#requests = 2; // its handshake, and what used it
  }

  /** A request has arrived. */
  requested(): void {
    const { clock, idleMs, store } = this.#setup;
    this.#requests += 1;
    // After the handshake, it had less time. Later, other processes may delete a session of whose use they do not know.
    if (this.#requests === 2 || clock.elapsed() - this.#storedAt >= idleMs / storedUses) store();
  }

  /** It is known to others when it ends. */
  stored(): void {
    this.#storedAt = this.#setup.clock.elapsed();
  }

  enter(): void {
    this.#open += 1;
    this.#entered += 1;
    this.#endsAt = undefined;
    this.#cancelIdle();
    this.#setup.onIdle(false);
  }

  leave(): void {
    this.#open -= 1;
    if (this.#open > 0 || this.#isOver) return;
    const { clock, onIdle, onOver } = this.#setup;
    onIdle(true);
    this.#endsAt = clock.now() + this.#leftMs;
    const entered = this.#entered;
    this.#cancelIdle = clock.after(this.#leftMs, () => onOver(() => entered === this.#entered));
  }

  /** The session has ended, for any reason. */
  end(): void {
    this.#isOver = true;
    this.#cancelIdle();
  }

  get #leftMs(): number {
    const { idleMs, unusedMs } = this.#setup;
    return this.isUsed ? idleMs : Math.min(idleMs, unusedMs);
  }
}
