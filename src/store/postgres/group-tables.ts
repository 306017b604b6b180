import { goesWith } from "../../task/journal-changes.ts";
import type { JournalEntry } from "../../task/journal.ts";
import { hasHandler, type Usage } from "../../task/queue.ts";
import type { TaskRecord } from "../../task/record.ts";
import { isTerminal } from "../../task/outcome.ts";
import type { EventFacts, EventQuery, OtherFacts } from "../facts.ts";
import type { TableWrite, TaskTables } from "../table-write.ts";
import type { GroupFacts } from "./group-facts.ts";
import { GroupWrites } from "./group-writes.ts";
import { keyName, wireName } from "./names.ts";
import { principalKey, totalKey, UsageDeltas } from "./task-sql.ts";

/** The tables as a group of commands sees them: the data read for it, and what its earlier commands have written. */
export class GroupTables implements TaskTables {
  readonly writes: GroupWrites;
  readonly deltas = new UsageDeltas();
  readonly #facts: GroupFacts;

  constructor(facts: GroupFacts) {
    this.#facts = facts;
    this.writes = new GroupWrites(facts.codec);
  }

  task(id: string): TaskRecord | undefined {
    return readable(this.#facts.tasks.get(id));
  }

  entry(id: string, key: string): JournalEntry | undefined {
    return readable(this.#facts.entries.get(id)?.get(key));
  }

  children(parent: string): readonly TaskRecord[] {
    const ids = this.#facts.children.get(parent) ?? [];
    return ids.flatMap((id) => {
      const child = this.#facts.tasks.get(id);
      return child === undefined || child instanceof Error ? [] : child;
    });
  }

  endedBelow(roots: readonly string[]): readonly string[] {
    return roots.flatMap((root) => [...(this.#facts.below.get(root) ?? [])]);
  }

  event(taskId: string, query: EventQuery): EventFacts {
    const { damage, ...facts } = this.#facts.events.get(`${taskId} ${query.name}`) ?? {};
    if (damage !== undefined) throw damage;
    return facts;
  }

  taskByIdempotencyKey(principal: string | null, key: string): TaskRecord | undefined {
    const id = this.#facts.keyed.get(keyName(principal, key));
    return id === undefined ? undefined : this.task(id);
  }

  usage(principal?: string): Usage {
    const key = principal === undefined ? totalKey : principalKey(principal);
    const { unfinished = 0, retained = 0 } = this.#facts.usage.get(key) ?? {};
    const delta = this.deltas.of(key);
    return { unfinished: unfinished + delta.unfinished, retained: retained + delta.retained };
  }

  isServed(task: TaskRecord): boolean {
    return this.#facts.owners.some(({ handlers, retired }) => !retired && hasHandler(handlers, task));
  }

  lives(owner: string): boolean {
    return this.#facts.owners.some(({ id, lives }) => id === owner && lives);
  }

  others(): OtherFacts {
    return this.#facts.others;
  }

  write(write: TableWrite): boolean {
    if (write.do === "insert" && !this.#insert(write.task)) return false;
    if (write.do === "save") this.#save(write);
    if (write.do === "remove") this.#remove(write.id);
    this.writes.add(write);
    return true;
  }

  #insert(task: TaskRecord): boolean {
    const { tasks, taken, keyed, children } = this.#facts;
    const names = [task.id, wireName(task)];
    if (names.some((name) => taken.has(name))) return false;
    for (const name of names) taken.add(name);
    tasks.set(task.id, task);
    if (task.idempotencyKey !== null) keyed.set(keyName(task.principal, task.idempotencyKey), task.id);
    if (task.parent !== null) {
      children.set(task.parent.id, [...(children.get(task.parent.id) ?? []), task.id]);
    }
    this.deltas.add(task, isTerminal(task.state) ? 0 : 1, 1);
    return true;
  }

  #save({ before, task, journal, forgets }: Extract<TableWrite, { do: "save" }>): void {
    const { tasks, entries, keyed, below } = this.#facts;
    if (tasks.has(task.id)) this.deltas.replaced(before, task);
    if (before.idempotencyKey !== null && task.idempotencyKey === null)
      keyed.delete(keyName(before.principal, before.idempotencyKey));
    tasks.set(task.id, task);
    if (task.parent !== null && isTerminal(task.state)) {
      const { root } = task.parent;
      below.set(root, (below.get(root) ?? new Set()).add(task.id));
    }
    const known = entries.get(task.id) ?? new Map<string, JournalEntry | Error>();
    entries.set(task.id, known);
    if (forgets !== undefined) {
      const isForgotten = (entry: JournalEntry): boolean =>
        forgets === "failures" ? isFailure(entry) : goesWith(forgets, entry);
      for (const [key, entry] of known)
        if (!(entry instanceof Error) && isForgotten(entry)) known.delete(key);
    }
    for (const entry of journal) known.set(entry.key, entry);
  }

  #remove(id: string): void {
    const { tasks, entries, children, below, events, taken, keyed, deletable } = this.#facts;
    const task = tasks.get(id);
    if (task === undefined || task instanceof Error) {
      const finished = deletable.find((each) => each.id === id);
      if (finished !== undefined) this.deltas.add(finished, 0, -1);
    } else {
      this.deltas.add(task, isTerminal(task.state) ? 0 : -1, -1);
      for (const name of [task.id, wireName(task)]) taken.delete(name);
      if (task.idempotencyKey !== null) keyed.delete(keyName(task.principal, task.idempotencyKey));
    }
    for (const each of [tasks, entries, children]) each.delete(id);
    for (const ended of below.values()) ended.delete(id);
    for (const name of events.keys()) if (name.startsWith(`${id} `)) events.delete(name);
  }
}

/** The entries that a retried handler forgets: steps, calls and artifacts with an error, and steps that have not ended. */
function isFailure({ kind, error, doneAt }: JournalEntry): boolean {
  if (kind === "step" && doneAt === null) return true;
  return (kind === "step" || kind === "call" || kind === "artifact") && error !== null;
}

function readable<T>(value: T | Error | undefined): T | undefined {
  if (value instanceof Error) throw value;
  return value;
}
