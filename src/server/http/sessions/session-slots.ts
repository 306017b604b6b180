import type { Clock } from "../../../runtime/clock.ts";
import { PerPrincipal, type Principal } from "../../per-principal.ts";

export interface SessionSlotsSetup {
  readonly clock: Clock;
  /** Sessions of all principals, and of one. */
  readonly maxSessions: number;
  readonly maxSessionsPerPrincipal: number;
  /** After this time, an idle session may lose its slot to another one of its principal. */
  readonly unusedSessionMs: number;
  /** Ends a session that has lost its slot. */
  readonly evict: (id: string) => void;
}

/**
 * Limits the sessions. When no slot is free, the principal with most sessions loses one to another principal, an idle one
 * first, so that no principal can keep the others out.
 */
export class SessionSlots {
  readonly #setup: SessionSlotsSetup;
  readonly #sessions = new PerPrincipal<string>();
  readonly #principals = new Map<string, Principal>();
  /** Since when sessions are idle; the longest first. */
  readonly #idle = new Map<string, number>();

  constructor(setup: SessionSlotsSetup) {
    this.#setup = setup;
  }

  /** Acquires a slot for a session, if necessary that of another session; otherwise says which limit is reached. */
  acquire(id: string, principal: Principal): "acquired" | "server is full" | "principal is full" {
    const { maxSessions, maxSessionsPerPrincipal } = this.#setup;
    const own = this.#sessions.count(principal);
    if (principal !== null && own >= maxSessionsPerPrincipal) {
      if (!this.#evict(this.#longestIdle((other) => other === principal))) return "principal is full";
    } else if (this.#sessions.size >= maxSessions) {
      if (!this.#evict(this.#ofLargest(own) ?? this.#longestIdle(this.#hasAsMany(principal)))) {
        return "server is full";
      }
    }
    this.#sessions.add(principal, id);
    this.#principals.set(id, principal);
    return "acquired";
  }

  /** Whether the session still has its slot. */
  has(id: string): boolean {
    return this.#principals.has(id);
  }

  /** The session has ended. */
  release(id: string): void {
    this.#idle.delete(id);
    const principal = this.#principals.get(id);
    if (principal === undefined) return;
    this.#principals.delete(id);
    this.#sessions.remove(principal, id);
  }

  /** The session became idle, or is used again. */
  idle(id: string, idle: boolean): void {
    this.#idle.delete(id);
    if (idle && this.#principals.has(id)) this.#idle.set(id, this.#setup.clock.now());
  }

  #evict(id: string | undefined): boolean {
    if (id === undefined) return false;
    this.release(id); // before it has ended, so that it is not evicted twice
    this.#setup.evict(id);
    return true;
  }

  /** A session of the principal with most, if that principal still has at least as many as the new one afterwards. */
  #ofLargest(own: number): string | undefined {
    const { largest } = this.#sessions;
    if (largest.size <= own + 1) return undefined;
    for (const id of this.#idle.keys()) if (largest.has(id)) return id;
    const [oldest] = largest;
    return oldest;
  }

  #hasAsMany(principal: Principal): (other: Principal) => boolean {
    const own = this.#sessions.count(principal);
    return (other) => other === principal || this.#sessions.count(other) > own;
  }

  #longestIdle(isOf: (principal: Principal) => boolean): string | undefined {
    const { clock, unusedSessionMs } = this.#setup;
    for (const [id, since] of this.#idle) {
      if (clock.now() - since < unusedSessionMs) return undefined;
      if (isOf(this.#principals.get(id) ?? null)) return id;
    }
    return undefined;
  }
}
