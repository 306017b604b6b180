import type { Share } from "../limits.ts";
import type { ReserveAnswer } from "../streams.ts";

/** What waits for one client, of one answer or stream. */
export interface Backlog {
  /** This many bytes wait now. Fewer than before means that the client read some. */
  hold(bytes: number): void;
  /** Nothing of it waits any more. */
  end(): void;
}

/** A stream broke because its client read too little. */
export class UnreadError extends Error {
  constructor() {
    super("The client is not reading its stream.");
  }
}

interface Entry {
  readonly cut: () => void;
  bytes: number;
  over: boolean;
}

interface Held {
  bytes: number;
  /** Clients that have read nothing for longest come first. */
  readonly entries: Set<Entry>;
}

/** How many large answers are being read at once: of these, what was reserved may differ from what they take. */
const mostReserved = 4;

const nothing = (): void => undefined;

/**
 * The bytes that clients have not read yet, with one budget for all. If there is no room for more, of the principal that holds most, the
 * client that has read nothing for longest is disconnected. One answer counts as at most half of the budget, so that a larger one still
 * reaches a client that reads.
 */
export class UnreadBytes {
  readonly #maxBytes: number;
  readonly #shares = new Map<Share, Held>();
  #bytes = 0;
  #reserved = 0;
  /** Those who wait for their turn to read a large answer, by whom they are counted. */
  readonly #turns = new Map<Share, (() => void)[]>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  of(holder: Share): number {
    return this.#shares.get(holder)?.bytes ?? 0;
  }

  /** `cut` must drop everything that waits; it is called at most once, and not after the end. */
  open(holder: Share, cut: () => void): Backlog {
    const entry: Entry = { cut, bytes: 0, over: false };
    return {
      hold: (bytes) => this.#resize(holder, entry, bytes),
      end: () => {
        this.#resize(holder, entry, 0);
        entry.over = true;
      },
    };
  }

  #resize(holder: Share, entry: Entry, waiting: number): void {
    if (entry.over) return;
    const bytes = Math.min(waiting, this.#maxBytes / 2);
    if (bytes > entry.bytes) this.#makeRoom(holder, bytes - entry.bytes);
    // It may have been the one that gave way.
    if (!entry.over) this.#set(holder, entry, bytes);
  }

  #set(holder: Share, entry: Entry, bytes: number): void {
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

  #makeRoom(asking: Share, bytes: number): void {
    while (this.#bytes + bytes > this.#maxBytes) {
      const holder = this.#largest(asking, bytes);
      const [entry] = this.#shares.get(holder)?.entries ?? [];
      if (entry === undefined) return; // nothing waits
      this.#set(holder, entry, 0);
      entry.over = true;
      entry.cut();
    }
  }

  /**
   * The principal that holds most waiting bytes, counting `bytes` to come: a principal that holds as much as another takes nothing from it.
   */
  #largest(asking: Share, bytes: number): Share {
    let largest: Share = null;
    let most = 0;
    for (const [holder, share] of this.#shares) {
      const all = share.bytes + (holder === asking ? bytes : 0);
      if (all > most) [largest, most] = [holder, all];
    }
    return largest;
  }

  /**
   * Resolves when an answer that takes so many bytes in the store may be read; call what it resolves with once the answer was passed on. The
   * bytes count as waiting from now on. Rejects with the reason of `signal`, which aborts when the answer is not wanted any more. Who asks for
   * many large answers does not hold up others, and between two of them the event loop goes on.
   */
  async reserve(holder: Share, bytes: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#reserved === mostReserved) await this.#turn(holder, signal);
    else this.#reserved += 1;
    const backlog = this.open(holder, nothing); // nothing of it can be dropped yet
    backlog.hold(bytes);
    return () => {
      backlog.end();
      setImmediate(() => this.#next());
    };
  }

  /** `reserve` for the answers of one connection. */
  reserveFor(holder: Share): ReserveAnswer {
    return (bytes, signal) => this.reserve(holder, bytes, signal);
  }

  #turn(holder: Share, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const turns = this.#turns.get(holder) ?? [];
      const begin = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        const place = turns.indexOf(begin);
        turns.splice(place, 1);
        if (turns.length === 0) this.#turns.delete(holder);
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", leave, { once: true });
      turns.push(begin);
      this.#turns.set(holder, turns);
    });
  }

  #next(): void {
    const [[holder = null, turns = []] = []] = this.#turns;
    const begin = turns.shift();
    this.#turns.delete(holder);
    if (turns.length > 0) this.#turns.set(holder, turns); // after the others
    if (begin === undefined) this.#reserved -= 1;
    else begin();
  }
}

/** Nobody else shares the memory of answers on a pipe: a few large ones are read at once. */
export function reserveOnPipe(): ReserveAnswer {
  return new UnreadBytes(Infinity).reserveFor(null);
}
