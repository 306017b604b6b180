import assert from "node:assert/strict";
import type { MemoryTables } from "../store/memory/memory-tables.ts";
import type { StoreChanges } from "../store/store.ts";
import type { TaskCommand } from "../task/command.ts";
import { encodeJournalKey, type JournalKey } from "../task/journal.ts";

/**
 * Where a process dies. `after`: the entry with the key has just ended, and that is stored. `before`: it was about to end, and nothing is
 * stored.
 */
export type CrashPoint = { readonly after: JournalKey } | { readonly before: JournalKey };

interface ArmedPoint {
  readonly when: "after" | "before";
  readonly key: string;
  /** The tasks in which it had already ended. */
  readonly past: ReadonlySet<string>;
  readonly reached: PromiseWithResolvers<void>;
}

/** The points at which processes of a test die. Each is used once. */
export class CrashPoints {
  readonly #tables: MemoryTables;
  readonly #armed = new Set<ArmedPoint>();

  constructor(tables: MemoryTables) {
    this.#tables = tables;
  }

  /** Resolves when the process has died there. */
  arm(given: CrashPoint): Promise<void> {
    const { when, key } = read(given);
    const past = new Set([...this.#tables.stored.keys()].filter((id) => this.#hasEnded(id, key)));
    const point = { when, key, past, reached: Promise.withResolvers<void>() };
    this.#armed.add(point);
    return point.reached.promise;
  }

  isBefore(command: TaskCommand): boolean {
    const ends = this.#endedBy(command);
    return this.#pass(({ when, key }) => when === "before" && ends.includes(key));
  }

  isAfter(changes: StoreChanges): boolean {
    if (changes === "gap") return false;
    return this.#pass(
      ({ when, key, past }) =>
        when === "after" && changes.some(({ id }) => !past.has(id) && this.#hasEnded(id, key)),
    );
  }

  /** The message about points that no process has reached; undefined if there is none. */
  missed(): string | undefined {
    const [point] = this.#armed;
    if (point === undefined) return undefined;
    const { when, key, past } = point;
    const name = `{ ${when}: ${JSON.stringify(key)} }`;
    if (past.size > 0)
      return `The crash point ${name} was not reached: "${key}" had ended before t.crash was called. Call t.crash first.`;
    const keys = [...this.#tables.stored.values()].flatMap(({ journal }) => [...journal.keys()]);
    const known = keys.length === 0 ? "nothing" : keys.map((one) => JSON.stringify(one)).join(", ");
    return `The crash point ${name} was not reached. The journals have: ${known}.`;
  }

  #pass(isReached: (point: ArmedPoint) => boolean): boolean {
    const point = [...this.#armed].find(isReached);
    if (point === undefined) return false;
    this.#armed.delete(point);
    point.reached.resolve();
    return true;
  }

  #hasEnded(id: string, key: string): boolean {
    return (this.#tables.entry(id, key)?.doneAt ?? null) !== null;
  }

  /** The keys of what a command ends, if it is applied. */
  #endedBy(command: TaskCommand): readonly string[] {
    switch (command.type) {
      case "record_step":
      case "end_sleep":
      case "close_wait":
        return [command.key];
      case "answer_inputs":
        return command.answers.map(({ key }) => key);
      case "send_event": {
        const { journal } = this.#tables.stored.get(command.id) ?? {};
        const waits = [...(journal?.values() ?? [])].filter(
          ({ kind, request, doneAt }) => kind === "event" && request === command.name && doneAt === null,
        );
        return waits.slice(0, 1).map(({ key }) => key);
      }
      case "settle":
      case "fail":
      case "expire":
      case "cancel": {
        const parent = this.#tables.task(command.id)?.parent;
        return parent === null || parent === undefined ? [] : [parent.key];
      }
      default:
        return [];
    }
  }
}

function read(point: CrashPoint): Pick<ArmedPoint, "when" | "key"> {
  if ("after" in point) return { when: "after", key: encodeJournalKey(point.after) };
  if ("before" in point) return { when: "before", key: encodeJournalKey(point.before) };
  assert.fail("t.crash takes { after: key } or { before: key }, or nothing to crash at once.");
}
