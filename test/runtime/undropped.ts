import type { ListedEntry } from "../../src/store/store.ts";
import type { JournalEnd, JournalEntry } from "../../src/task/journal.ts";
import type { Outcome } from "../../src/task/outcome.ts";
import { text } from "./harness.ts";
import { play, type Calls, type Program } from "./random-handlers.ts";
import { turns } from "./slow-store.ts";

/** The journal of a task, by key. */
export type WholeJournal = ReadonlyMap<string, JournalEntry & Pick<ListedEntry, "place">>;

/** What a handler comes to with a journal. */
export interface Undropped {
  /** Undefined where it waits for something that has not ended. */
  readonly body: string | undefined;
  /** The ends that its branches saw, in order, after it has returned too. */
  readonly ends: readonly string[];
  /** What it has begun that has not ended. */
  readonly open: ReadonlyMap<string, JournalEntry["kind"]>;
  readonly begun: ReadonlySet<string>;
}

type Place = Pick<ListedEntry, "doneVersion" | "place">;

interface End {
  readonly entry: Place;
  readonly release: () => void;
}

/** Ends an entry of a handler as the journal says, when it is its turn; never if the journal has no end of it. */
export type EndEntry = (key: string, kind: JournalEntry["kind"]) => Promise<JournalEnd>;

/**
 * Runs a handler once, from its start, in memory that is never lost: what it begins ends as the journal says, in the order of the
 * commits. The journal says how races were decided, be it by an answer, a deadline, or a crash that made a step run again, so that no
 * other run of the same events could: this is the run that was never dropped.
 */
export async function runUndropped(
  journal: WholeJournal,
  run: (end: EndEntry, ended: (end: string) => void) => Promise<string>,
): Promise<Undropped> {
  const ends: string[] = [];
  const begun = new Set<string>();
  const open = new Map<string, JournalEntry["kind"]>();
  const ready: End[] = [];
  let body: string | undefined;

  const end: EndEntry = async (key, kind) => {
    begun.add(key);
    const entry = journal.get(key);
    if (entry === undefined || entry.doneAt === null) {
      open.set(key, kind);
      return new Promise(() => undefined);
    }
    await new Promise<void>((release) => ready.push({ entry, release }));
    return entry;
  };
  void run(end, (what) => void ends.push(what)).then(
    (value) => (body = JSON.stringify(text(value))),
    ({ message }: Error) => (body = JSON.stringify({ ...text(message), isError: true })),
  );
  // Longer than a handler pauses.
  for (let idle = 0; idle < 16; idle++) {
    await turns(1);
    const next = ready.sort((a, b) => compare(a.entry, b.entry)).shift();
    if (next === undefined) continue;
    next.release();
    idle = 0;
  }
  return { body, ends, open, begun };
}

/** The same for a random program. */
export function undropped(program: Program, journal: WholeJournal): Promise<Undropped> {
  return runUndropped(journal, (endEntry, ended) => {
    const end = async (key: string, kind: JournalEntry["kind"]): Promise<unknown> => {
      const { value, error } = await endEntry(key, kind);
      if (error !== null) throw new Error((JSON.parse(error) as Error).message);
      return value === null ? undefined : JSON.parse(value);
    };
    const calls: Calls = {
      signal: new AbortController().signal,
      step: (key: string) => end(key, "step") as Promise<string>,
      sleep: async (key) => void (await end(key, "sleep")),
      elicit: (key) => end(key, "input") as Promise<{ content?: unknown }>,
      waitForEvent: (key) => end(key, "event"),
      status: () => Promise.resolve(),
    };
    const ran = (): Promise<never> => Promise.reject(new Error("It is in the journal."));
    return play(program, calls, { ended: (_, what) => ended(what), ran });
  });
}

function compare(a: Place, b: Place): number {
  return (a.doneVersion ?? 0) - (b.doneVersion ?? 0) || a.place - b.place;
}

/** What clients see of an outcome. */
export function bodyText(outcome: Outcome | null): string | undefined {
  if (outcome === null) return undefined;
  const { content, isError } = JSON.parse(outcome.body) as { content: unknown; isError?: boolean };
  return JSON.stringify({ content, ...(isError === true && { isError }) });
}
