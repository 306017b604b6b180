import type { Principal } from "../per-principal.ts";

/** What waits for one client, of one answer or stream. */
export interface Backlog {
  /** So many bytes wait now. Fewer than before means that the client took some. */
  hold(bytes: number): void;
  /** Nothing of it waits any more. */
  end(): void;
}

/** Why a stream broke whose client took too little of it. */
export class UnreadError extends Error {
  constructor() {
    super("The client does not read its stream.");
  }
}

interface Entry {
  readonly cut: () => void;
  bytes: number;
  over: boolean;
}

interface Share {
  bytes: number;
  /** Those whose clients have taken nothing for longest come first. */
  readonly entries: Set<Entry>;
}

/**
 * The bytes that were made for clients and that these have not taken, with one budget for all. When there is no room for more, the
 * principal with most of them gives way: the one of its clients that has taken nothing for longest is cut off. One answer counts as
 * half of the budget at most, so that one that is larger still reaches a client that reads.
 */
export class UnreadBytes {
  readonly #maxBytes: number;
  readonly #shares = new Map<Principal, Share>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  of(holder: Principal): number {
    return this.#shares.get(holder)?.bytes ?? 0;
  }

  /** `cut` has to drop all that waits; it is called once at most, and not after the end. */
  open(holder: Principal, cut: () => void): Backlog {
    const entry: Entry = { cut, bytes: 0, over: false };
    return {
      hold: (bytes) => this.#resize(holder, entry, bytes),
      end: () => {
        this.#resize(holder, entry, 0);
        entry.over = true;
      },
    };
  }

  #resize(holder: Principal, entry: Entry, waiting: number): void {
    if (entry.over) return;
    const bytes = Math.min(waiting, this.#maxBytes / 2);
    if (bytes > entry.bytes) this.#makeRoom(holder, bytes - entry.bytes);
    // It may have been the one that gave way.
    if (!entry.over) this.#set(holder, entry, bytes);
  }

  #set(holder: Principal, entry: Entry, bytes: number): void {
    const share = this.#shares.get(holder) ?? { bytes: 0, entries: new Set() };
    this.#shares.set(holder, share);
    const more = bytes - entry.bytes;
    this.#bytes += more;
    share.bytes += more;
    entry.bytes = bytes;
    if (more < 0) share.entries.delete(entry); // and to the end, if anything is left of it
    if (bytes > 0) share.entries.add(entry);
    if (share.entries.size === 0) this.#shares.delete(holder);
  }

  #makeRoom(asking: Principal, bytes: number): void {
    while (this.#bytes + bytes > this.#maxBytes) {
      const holder = this.#largest(asking, bytes);
      const [entry] = this.#shares.get(holder)?.entries ?? [];
      if (entry === undefined) return; // nothing waits
      this.#set(holder, entry, 0);
      entry.over = true;
      entry.cut();
    }
  }

  /** Who has most of what waits already, with the `bytes` that are to come: nobody loses anything to one who has as much. */
  #largest(asking: Principal, bytes: number): Principal {
    let largest: Principal = null;
    let most = 0;
    for (const [holder, share] of this.#shares) {
      const all = share.bytes + (holder === asking ? bytes : 0);
      if (all > most) [largest, most] = [holder, all];
    }
    return largest;
  }
}
