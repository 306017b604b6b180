import type { Clock } from "../../../runtime/clock.ts";
import { Shares, type Holder } from "../../shares.ts";

export interface SessionPlacesSetup {
  readonly clock: Clock;
  /** Sessions of everybody, and of one principal. */
  readonly maxSessions: number;
  readonly maxSessionsPerPrincipal: number;
  /** How long a session may be idle before it makes room for another of its own principal. */
  readonly unusedSessionMs: number;
  /** Ends a session that has lost its place. */
  readonly evict: (id: string) => void;
}

/**
 * Who may open how many sessions. When there is no place left, the principal with most sessions gives one up to another,
 * one that is idle first, so that nobody keeps the others out.
 */
export class SessionPlaces {
  readonly #setup: SessionPlacesSetup;
  readonly #shares = new Shares<string>();
  readonly #holders = new Map<string, Holder>();
  /** Since when nothing of them is open; the longest first. */
  readonly #idle = new Map<string, number>();

  constructor(setup: SessionPlacesSetup) {
    this.#setup = setup;
  }

  /** Takes a place for a session, where need be another's; else tells who has no more of them. */
  take(id: string, holder: Holder): "taken" | "server is full" | "principal has its share" {
    const { maxSessions, maxSessionsPerPrincipal } = this.#setup;
    const own = this.#shares.count(holder);
    if (holder !== null && own >= maxSessionsPerPrincipal) {
      if (!this.#evict(this.#longestIdle((other) => other === holder))) return "principal has its share";
    } else if (this.#shares.size >= maxSessions) {
      if (!this.#evict(this.#tooMany(own) ?? this.#longestIdle(this.#noSmaller(holder))))
        return "server is full";
    }
    this.#shares.add(holder, id);
    this.#holders.set(id, holder);
    return "taken";
  }

  /** Whether the session has a place, which another may have taken. */
  has(id: string): boolean {
    return this.#holders.has(id);
  }

  /** The session has ended. */
  give(id: string): void {
    this.#idle.delete(id);
    const holder = this.#holders.get(id);
    if (holder === undefined) return;
    this.#holders.delete(id);
    this.#shares.remove(holder, id);
  }

  /** Nothing of the session is open any more, or something is again. */
  idle(id: string, idle: boolean): void {
    this.#idle.delete(id);
    if (idle && this.#holders.has(id)) this.#idle.set(id, this.#setup.clock.now());
  }

  #evict(id: string | undefined): boolean {
    if (id === undefined) return false;
    this.give(id); // the next one who wants a place takes another's
    this.#setup.evict(id);
    return true;
  }

  /** A session of the principal with most, where that has more than one that takes another has then. */
  #tooMany(own: number): string | undefined {
    const { largest } = this.#shares;
    if (largest.size <= own + 1) return undefined;
    for (const id of this.#idle.keys()) if (largest.has(id)) return id;
    const [oldest] = largest;
    return oldest;
  }

  #noSmaller(holder: Holder): (other: Holder) => boolean {
    const own = this.#shares.count(holder);
    return (other) => other === holder || this.#shares.count(other) > own;
  }

  #longestIdle(ofWhom: (holder: Holder) => boolean): string | undefined {
    const { clock, unusedSessionMs } = this.#setup;
    for (const [id, since] of this.#idle) {
      if (clock.now() - since < unusedSessionMs) return undefined;
      if (ofWhom(this.#holders.get(id) ?? null)) return id;
    }
    return undefined;
  }
}
