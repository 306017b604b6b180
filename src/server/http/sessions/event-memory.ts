import type { Holder } from "../../shares.ts";

/** A log in the memory that all of them share. */
export interface SharingLog {
  /** What it holds now. */
  readonly bytes: number;
  /** Forgets its oldest event. */
  dropOldest(): void;
}

interface Share {
  bytes: number;
  readonly logs: Set<SharingLog>;
}

/** How much more than is needed is forgotten at a time, so that not every event looks for the largest log. */
const slackPart = 1 / 256;

/** The memory for what all sessions could send again. When it is full, the principal with most in it forgets first. */
export class EventMemory {
  readonly #maxBytes: number;
  readonly #shares = new Map<Holder, Share>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Makes room for so many bytes of any log. */
  makeRoom(length: number): void {
    if (this.#bytes + length <= this.#maxBytes) return;
    const most = this.#maxBytes * (1 - slackPart) - length;
    while (this.#bytes > 0 && this.#bytes > most) {
      const log = this.#largestLog();
      if (log === undefined) return;
      const half = log.bytes / 2;
      while (this.#bytes > most && log.bytes > 0 && log.bytes >= half) log.dropOldest();
    }
  }

  /** `log` of `holder` has so many bytes more, or less. */
  changed(holder: Holder, log: SharingLog, by: number): void {
    const share = this.#shares.get(holder) ?? { bytes: 0, logs: new Set() };
    this.#shares.set(holder, share);
    share.bytes += by;
    this.#bytes += by;
    if (log.bytes > 0) share.logs.add(log);
    else share.logs.delete(log);
    if (share.logs.size === 0) this.#shares.delete(holder);
  }

  #largestLog(): SharingLog | undefined {
    const share = largest(this.#shares.values());
    return share === undefined ? undefined : largest(share.logs);
  }
}

function largest<T extends { readonly bytes: number }>(all: Iterable<T>): T | undefined {
  let most: T | undefined;
  for (const each of all) if (most === undefined || each.bytes > most.bytes) most = each;
  return most;
}
