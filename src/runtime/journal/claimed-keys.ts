import { HoldfastError } from "../../task/fault.ts";
import {
  encodeJournalKey,
  type InputMethod,
  type JournalEnd,
  type JournalEntry,
  type JournalKey,
  type JournalKind,
  splitRound,
  stemOf,
} from "../../task/journal.ts";
import type { Refusal } from "../blocking.ts";
import type { ListedEntry, TaskStore } from "../../store/store.ts";

/** Whether the journal of the task has an entry of an earlier attempt under a stored key. */
type IsInJournal = (stored: string) => boolean;

/**
 * The journal keys that one attempt has used.
 * - A key names one thing in a task; otherwise a replay could confuse two.
 * - What was renamed keeps its old key in the journal that has it, and gets the new one everywhere else.
 */
export class ClaimedKeys {
  readonly #keys = new Map<string, JournalKind | undefined>();
  /** The old names of a name. */
  readonly #earlier = new Map<string, string[]>();
  /** The name of an old one. */
  readonly #now = new Map<string, string>();
  readonly #isInJournal: IsInJournal;

  constructor(isInJournal: IsInJournal = () => false) {
    this.#isInJournal = isInJournal;
  }

  /** The stored keys in the order in which they were claimed, with the kind of entry once that is known. */
  get all(): ReadonlyMap<string, JournalKind | undefined> {
    return this.#keys;
  }

  claim(key: JournalKey): string {
    assertKey(key);
    const now = this.#now.get(nameOf(key));
    if (now !== undefined) throw wrong(`${shown(key)} has the old name of "${now}". Use the new one`);
    const stored = this.stored(key);
    if (this.#keys.has(stored)) {
      throw new HoldfastError(
        "duplicate_key",
        `The key ${shown(key)} was already used in this task. Give each step and question its own key; in a loop, include the item, such as ["hash", path].`,
      );
    }
    if (!this.#isInJournal(stored)) assertStorable(key);
    this.#keys.set(stored, undefined);
    return stored;
  }

  /** What is done under a claimed key. */
  did(stored: string, kind: JournalKind): void {
    this.#keys.set(stored, kind);
  }

  /** The key under which the journal has this, or will have it. */
  stored(key: JournalKey): string {
    const encoded = encodeJournalKey(key);
    const earlier = this.#earlier.get(nameOf(key));
    if (earlier === undefined || this.#isInJournal(encoded)) return encoded;
    const { round, own } = splitRound(key);
    const old = earlier.map((name) => {
      if (round !== undefined)
        return encodeJournalKey([...round, name, ...(typeof own === "string" ? [] : own.slice(1))]);
      return encodeJournalKey(typeof key === "string" ? name : [name, ...key.slice(1)]);
    });
    return old.find(this.#isInJournal) ?? encoded;
  }

  /** Throws `configuration` for names that cannot be, or are used already. */
  rename(names: Readonly<Record<string, string>>): void {
    const pairs = Object.entries(names).filter(([old, name]) => this.#now.get(old) !== name);
    for (const [old, name] of pairs) {
      if (typeof name !== "string") throw new TypeError(`task.renamed needs a name for ${shown(old)}.`);
      if (this.#now.has(old)) throw wrong(`"${old}" is renamed twice`);
      if (Object.hasOwn(names, name) || this.#now.has(name) || this.#earlier.has(old))
        throw wrong(`"${name}" is a new name and an old one. Map each old name to the newest one`);
      const used = [...this.#keys.keys()].map(stemOf).find((key) => key === old || key === name);
      if (used !== undefined) throw wrong(`"${used}" is used already. Rename it before its first use`);
    }
    for (const [old, name] of pairs) {
      this.#now.set(old, name);
      this.#earlier.set(name, [...(this.#earlier.get(name) ?? []), old]);
    }
  }
}

/** The name of a key, without its round and the item of a collection. */
function nameOf(key: JournalKey): string {
  const { own } = splitRound(key);
  return String(typeof own === "string" ? own : own[0]);
}

function shown(key: JournalKey): string {
  return JSON.stringify(key);
}

function wrong(problem: string): HoldfastError {
  return new HoldfastError("configuration", `task.renamed: ${problem}.`);
}

function assertKey(key: unknown): asserts key is JournalKey {
  const parts: readonly unknown[] = Array.isArray(key) ? key : [key];
  const whole = Array.isArray(key) || typeof key === "string";
  if (whole && parts.every((part) => typeof part === "string" || Number.isFinite(part))) return;
  throw new TypeError(`A key must be a string or an array of strings and finite numbers, not ${typeof key}.`);
}

/** As JSON, in UTF-8. An index of Postgres takes no row of more than 2,704 bytes, and each store has to take the same keys. */
const mostKeyBytes = 2_000;

/** Throws `too_large` for a key that not every store takes: a handler could only wait for its write. */
function assertStorable(key: JournalKey): void {
  const bytes = Buffer.byteLength(JSON.stringify(key));
  if (bytes <= mostKeyBytes) return;
  const problem = `The key ${shown(key).slice(0, 60).toWellFormed()}… has ${bytes} bytes, and ${mostKeyBytes} are the most that a key may have.`;
  throw new HoldfastError("too_large", `${problem} Use a hash of what is long in it.`);
}

/**
 * Whether a handler does the same under a key of its journal as when the entry was made: the one place that decides it.
 * - What is compared is the kind of the entry and, where it has one, the hash of its request; never a result.
 * - Another thing under the key blocks the task: nothing is written, and other code may continue it.
 */

/** What a handler does under a key. */
export interface Doing {
  readonly kind: JournalKind;
  /** Of a question. */
  readonly method?: InputMethod;
  /** Of what is asked, called or waited for. */
  readonly requestHash?: string;
  /** For people: the question, as JSON, the tool or the name of the event. */
  readonly request?: string;
}

/** Something else than what the journal has under the key. */
export interface Mismatch {
  readonly key: string;
  /** The kind of the entry in the journal. */
  readonly had: JournalKind;
  readonly doing: Doing;
}

/** Why this code cannot continue a task: it does something else than the journal has, or refuses the arguments. */
export type RunRefusal =
  | ({ readonly reason: "replay" } & Mismatch)
  | { readonly reason: "arguments"; readonly problem: string; readonly issues: string };

export function isSame({ kind, method, requestHash }: ListedEntry, doing: Doing): boolean {
  if (kind !== doing.kind) return false;
  if (kind === "input" && method !== doing.method) return false;
  return doing.requestHash === undefined || requestHash === doing.requestHash;
}

/** What the handler does, or the journal has, in words. */
function wordsOf({ kind, request: given }: Pick<JournalEntry, "kind" | "request"> | Doing): string {
  const request = given ?? "";
  switch (kind) {
    case "input":
      return `the question ${messageIn(request)}`;
    case "call":
      return `a call of the tool "${request}"`;
    case "event":
      return `a wait for the event "${request}"`;
    case "artifact":
      return "an artifact";
    default:
      return request === "" ? `a ${kind}` : request;
  }
}

/** Why the task is blocked, with the entry that `entryOf` reads, for operators. */
export async function blockReasonOf(
  refusal: RunRefusal,
  version: number,
  entryOf: (key: string) => Promise<JournalEntry | undefined>,
): Promise<Refusal> {
  if (refusal.reason === "arguments") {
    const { reason, problem, issues } = refusal;
    return { reason, problem, key: null, was: "accepted when the task began", is: issues, version };
  }
  const { reason, key, doing } = refusal;
  const entry = await entryOf(key);
  const was = entry === undefined ? "nothing" : wordsOf(entry);
  const is = wordsOf(doing);
  const difference = was === is ? `${is}, but with other details` : is;
  const problem = `Under the key "${key}", the journal has ${was}, and the handler now does something else: ${difference}.`;
  return { reason, problem, key, was, is, version };
}

/** What people see of a question; all of it if it has no message. */
function messageIn(request: string): string {
  try {
    const params: unknown = JSON.parse(request);
    const message =
      typeof params === "object" && params !== null && "message" in params ? params.message : undefined;
    return typeof message === "string" ? JSON.stringify(message) : request;
  } catch {
    return request;
  }
}

const kindNames: Readonly<Record<JournalKind, string>> = {
  step: "step",
  input: "question",
  sleep: "sleep",
  call: "call",
  event: "wait for an event",
  artifact: "artifact",
  loop: "loop",
};

/** What readers of a recording see of it. */
export function replayMismatch({ key, had, doing }: Mismatch): HoldfastError {
  const kind = kindNames[had];
  const what = had === doing.kind ? `a different ${kind}` : `a different entry (${kind})`;
  return new HoldfastError(
    "replay_mismatch",
    `The journal has ${what} under the key "${key}", and the handler now does something else: ${wordsOf(doing)}. Use a new key for what has changed.`,
  );
}

/**
 * What a task that takes up another one begins with.
 * - Whatever succeeded is kept, also after an entry that failed: a branch beside it may have paid.
 * - What failed, or had not ended, is left out and runs again. A loop goes on with the round in which it was.
 * - A replay follows the order in which the entries ended.
 */

/** The maximum size of the entries that a task begins with, since they are stored in one write. */
const mostBytes = 16 * 1024 * 1024;

const entriesPerPage = 500;

/** The number of bytes to read at a time, unless a single end is larger. */
const pageBytes = 1024 * 1024;

/** A task's entries that succeeded, of those that `isMeant` accepts. Rejects with `too_large` if one write cannot hold them. */
export async function finishedEntries(
  store: Pick<TaskStore, "journal" | "journalEnds" | "journalEntry">,
  id: string,
  isMeant: (key: string) => boolean = () => true,
): Promise<readonly JournalEntry[]> {
  const listed: ListedEntry[] = [];
  let bytes = 0;
  for (let from: string | null = ""; from !== null;) {
    const page: Awaited<ReturnType<TaskStore["journal"]>> = await store.journal(id, from, entriesPerPage);
    const ended = page.entries.filter(
      ({ key, kind, doneAt }) => (doneAt !== null || kind === "loop") && isMeant(key),
    );
    bytes += ended.reduce((sum, each) => sum + each.bytes, 0);
    if (bytes > mostBytes) {
      const problem = `The finished steps of ${id} are larger than ${mostBytes} bytes, which is too much to begin another task with`;
      throw new HoldfastError("too_large", `${problem}. It can only run again from the start.`);
    }
    listed.push(...ended);
    from = page.next;
  }
  listed.sort((a, b) => (a.doneVersion ?? 0) - (b.doneVersion ?? 0) || a.place - b.place);
  const entries: JournalEntry[] = [];
  for (const page of pagesOf(listed)) {
    const ends = new Map(
      (
        await store.journalEnds(
          id,
          page.map(({ key }) => key),
        )
      ).map((end) => [end.key, end]),
    );
    for (const head of page) {
      const entry = await storedEntryOf(store, id, head, ends.get(head.key));
      // One command ends all of them: the one that creates the task.
      if (entry?.error === null) entries.push(entry.doneAt === null ? entry : { ...entry, doneVersion: 1 });
    }
  }
  return entries;
}

function* pagesOf(listed: readonly ListedEntry[]): Generator<readonly ListedEntry[]> {
  for (let start = 0; start < listed.length;) {
    let end = start;
    for (let bytes = 0; end < listed.length && end - start < entriesPerPage; end++) {
      bytes += listed[end]?.bytes ?? 0;
      if (bytes > pageBytes && end > start) break;
    }
    yield listed.slice(start, end);
    start = end;
  }
}

/** Steps and sleeps have nothing besides their ends. */
async function storedEntryOf(
  store: Pick<TaskStore, "journalEntry">,
  id: string,
  { place: _, bytes: __, ...head }: ListedEntry,
  end: JournalEnd | undefined,
): Promise<JournalEntry | undefined> {
  if (head.kind !== "step" && head.kind !== "sleep") return store.journalEntry(id, head.key);
  return end && { ...head, ...end, request: null };
}
