import type { Share } from "../../per-principal.ts";

/** A log in the memory that all logs usage. */
export interface SharingLog {
  readonly bytes: number;
  /** Forgets its oldest event. */
  dropOldest(): void;
}

interface Usage {
  bytes: number;
  readonly logs: Set<SharingLog>;
}

/** How much more than necessary is freed at a time, so that not every event has to find the largest log. */
const slackPart = 1 / 256;

/** Limits the memory of all event logs. When it is full, the principal that uses most of it loses its oldest events. */
export class EventMemory {
  readonly #maxBytes: number;
  readonly #usage = new Map<Share, Usage>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Frees memory until `length` bytes fit. */
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

  /** The log of the principal grew or shrank by this many bytes. */
  changed(share: Share, log: SharingLog, by: number): void {
    const usage = this.#usage.get(share) ?? { bytes: 0, logs: new Set() };
    this.#usage.set(share, usage);
    usage.bytes += by;
    this.#bytes += by;
    if (log.bytes > 0) usage.logs.add(log);
    else usage.logs.delete(log);
    if (usage.logs.size === 0) this.#usage.delete(share);
  }

  #largestLog(): SharingLog | undefined {
    const usage = largest(this.#usage.values());
    return usage === undefined ? undefined : largest(usage.logs);
  }
}

function largest<T extends { readonly bytes: number }>(all: Iterable<T>): T | undefined {
  let most: T | undefined;
  for (const each of all) if (most === undefined || each.bytes > most.bytes) most = each;
  return most;
}
