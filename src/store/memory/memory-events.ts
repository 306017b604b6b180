import type { JournalEntry } from "../../task/journal.ts";
import type { EventFacts, EventQuery } from "../facts.ts";

interface StoredEvent {
  readonly seq: number;
  readonly name: string;
  /** Null: a wait has taken it, and only its `dedupeId` is kept. */
  readonly value: string | null;
  readonly dedupeId: string | null;
}

/** The events of one task, in order of arrival. */
export class MemoryEvents {
  #events: StoredEvent[] = [];
  #next = 1;

  facts(journal: Iterable<JournalEntry>, { name, coming }: EventQuery): EventFacts {
    if (coming === undefined) {
      const first = this.#events.find((event) => event.name === name && event.value !== null);
      return { kept: first && first.value !== null ? { seq: first.seq, value: first.value } : undefined };
    }
    const { dedupeId, now } = coming;
    return {
      wait: firstWait(journal, name, now),
      isKnown: dedupeId !== null && this.#events.some((event) => event.dedupeId === dedupeId),
      count: this.#events.filter(({ value }) => value !== null).length,
    };
  }

  keep(name: string, value: string | null, dedupeId: string | null): void {
    this.#events.push({ seq: this.#next++, name, value, dedupeId });
  }

  take(seq: number): void {
    this.#events = this.#events.flatMap((event) => {
      if (event.seq !== seq) return event;
      return event.dedupeId === null ? [] : { ...event, value: null };
    });
  }
}

/** The first wait whose time is not over. */
function firstWait(journal: Iterable<JournalEntry>, name: string, now: number): JournalEntry | undefined {
  for (const entry of journal) {
    const { kind, request, doneAt, deadlineAt } = entry;
    if (kind !== "event" || request !== name || doneAt !== null) continue;
    if (deadlineAt === null || deadlineAt > now) return entry;
  }
  return undefined;
}
