import type { StoredDelivery } from "../../task/delivery.ts";
import type { DeliveryQuery, ExcessQuery, Outbox, OutboxWrite, WaitingDeliveries } from "../outbox.ts";
import { compareText } from "./memory-lists.ts";
import { SortedSet } from "./sorted-set.ts";

interface Due {
  readonly at: number;
  readonly seq: number;
}

/** Messages that wait for webhooks. */
export class MemoryOutbox {
  /** In order of their numbers, which a Map keeps. */
  readonly #stored = new Map<number, StoredDelivery>();
  /** By webhook. */
  readonly #due = new Map<string, SortedSet<Due>>();
  #last = 0;

  deliveries({ hook, now, limit }: DeliveryQuery): readonly StoredDelivery[] {
    if (now === null) return this.#of(hook).filter(isGivenUp).slice(0, limit);
    const found: StoredDelivery[] = [];
    for (const { at, seq } of this.#due.get(hook)?.from({ at: -Infinity, seq: 0 }) ?? []) {
      const delivery = this.#stored.get(seq);
      if (at > now || found.length >= limit) break;
      if (delivery !== undefined) found.push(delivery);
    }
    return found;
  }

  excess({ most, before, limit }: ExcessQuery): readonly number[] {
    const tooMany = this.#stored.size - most;
    return [...this.#stored.values()]
      .slice(0, limit)
      .filter(({ at }, index) => index < tooMany || at < before)
      .map(({ seq }) => seq);
  }

  write(write: OutboxWrite): void {
    if (write.do === "keep_delivery") {
      const { delivery } = write;
      const seq = ++this.#last;
      this.#put({ ...delivery, seq, dueAt: delivery.at, tries: 0, failedAt: null, problem: null });
      return;
    }
    const old = this.#stored.get(write.seq);
    if (old === undefined || ("tries" in write && write.tries !== old.tries)) return;
    switch (write.do) {
      case "claim_delivery":
        return this.#put({ ...old, tries: old.tries + 1, dueAt: write.until });
      case "retry_delivery": {
        const { at: failedAt, problem } = write.failure ?? { at: old.failedAt, problem: old.problem };
        return this.#put({ ...old, dueAt: write.at, failedAt, problem });
      }
      case "resend_delivery":
        return this.#put({ ...old, dueAt: write.now });
      case "end_delivery":
      case "drop_delivery":
        this.#unindex(old);
        this.#stored.delete(old.seq);
    }
  }

  /** The store's port. `assertOpen` throws unless the store is open. */
  port(assertOpen: () => void): Outbox {
    return {
      nextDueAt: async (hook) => {
        assertOpen();
        return this.#due.get(hook)?.first()?.at ?? null;
      },
      counts: async (most) => {
        assertOpen();
        const hooks = new Set([...this.#stored.values()].map(({ hook }) => hook));
        return [...hooks].sort(compareText).map((hook) => this.#counted(hook, most));
      },
      ofTask: async (id, lookedThrough) => {
        assertOpen();
        return [...this.#stored.values()].slice(-lookedThrough).filter(({ taskId }) => taskId === id);
      },
    };
  }

  #counted(hook: string, most: number): WaitingDeliveries {
    const all = this.#of(hook);
    const givenUp = all.filter(isGivenUp).length;
    const [last] = all
      .flatMap(({ failedAt: at, problem }) => (at === null || problem === null ? [] : { at, problem }))
      .sort((a, b) => b.at - a.at);
    const waiting = Math.min(most, all.length - givenUp);
    return { hook, waiting, givenUp: Math.min(most, givenUp), lastFailure: last ?? null };
  }

  #of(hook: string): readonly StoredDelivery[] {
    return [...this.#stored.values()].filter((delivery) => delivery.hook === hook);
  }

  #put(delivery: StoredDelivery): void {
    const old = this.#stored.get(delivery.seq);
    if (old !== undefined) this.#unindex(old);
    const { hook, seq, dueAt } = delivery;
    this.#stored.set(seq, delivery);
    if (dueAt === null) return;
    const due = this.#due.get(hook) ?? new SortedSet<Due>((a, b) => a.at - b.at || a.seq - b.seq);
    this.#due.set(hook, due);
    due.add({ at: dueAt, seq });
  }

  #unindex({ hook, seq, dueAt }: StoredDelivery): void {
    if (dueAt !== null) this.#due.get(hook)?.delete({ at: dueAt, seq });
  }
}

function isGivenUp({ dueAt }: StoredDelivery): boolean {
  return dueAt === null;
}
