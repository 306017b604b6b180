import type { BulkJob } from "../../task/bulk.ts";
import type { StoredDelivery } from "../../task/delivery.ts";
import { goesWith } from "../../task/journal-changes.ts";
import type { JournalEntry } from "../../task/journal.ts";
import { hasHandler, type Usage } from "../../task/queue.ts";
import type { TaskRecord, TaskRequest } from "../../task/record.ts";
import { isTerminal } from "../../task/outcome.ts";
import type { EventFacts, EventQuery, QueuedTasks, RunnableTasks, RunningTasks } from "../facts.ts";
import type { TableWrite, TaskTables } from "../table-write.ts";
import type { GroupFacts } from "./group-facts.ts";
import { GroupWrites } from "./group-writes.ts";
import { keyName, wireName } from "./names.ts";
import { principalKey, totalKey, UsageDeltas } from "./task-sql.ts";

/** The tables as a group of commands sees them: the data read for it, and what its earlier commands have written. */
export class GroupTables implements TaskTables {
  readonly writes = new GroupWrites();
  readonly deltas = new UsageDeltas();
  readonly #facts: GroupFacts;

  constructor(facts: GroupFacts) {
    this.#facts = facts;
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

  runnable(): RunnableTasks {
    return (
      this.#facts.runnable ?? {
        tasks: [],
        unreadable: [],
        turns: { rounds: [], limited: [] },
        heldBack: false,
        suspectsWait: false,
      }
    );
  }

  toWake(): QueuedTasks {
    return this.#facts.toWake ?? { tasks: [], unreadable: [] };
  }

  running(): RunningTasks {
    return this.#facts.running ?? { alive: false, tasks: [], unreadable: [], next: null };
  }

  deletable(): readonly string[] {
    return this.#facts.deletable.map(({ id }) => id);
  }

  secret(name: string): string | undefined {
    return this.#facts.secrets.get(name);
  }

  bulkJob(): BulkJob | undefined {
    return this.#facts.bulkJob;
  }

  deliveries(): readonly StoredDelivery[] {
    return this.#facts.deliveries;
  }

  excessDeliveries(): readonly number[] {
    return this.#facts.excess;
  }

  write(write: TableWrite): boolean {
    switch (write.do) {
      case "insert":
        return this.#insert(write.task, write.request);
      case "save":
        this.#save(write);
        return true;
      case "append_lines":
        this.writes.append(write);
        return true;
      case "change_pieces":
        this.writes.pieces.change(write.id, write.change);
        return true;
      case "remove":
        this.#remove(write.id);
        return true;
      case "keep_event":
        this.writes.keepEvent(write);
        return true;
      case "take_event":
        this.writes.takeEvent(write.seq);
        return true;
      case "keep_secret":
        this.#facts.secrets.set(write.name, write.value);
        this.writes.secrets.keep(write.name, write.value);
        return true;
      case "replace_secret":
        if (write.value === null) this.#facts.secrets.delete(write.name);
        else this.#facts.secrets.set(write.name, write.value);
        this.writes.secrets.replace(write.name, write.value);
        return true;
      case "retire_owner":
        this.writes.retire(write);
        return true;
      case "drain_owner":
        this.writes.drain(write);
        return true;
      case "write_outbox":
        this.writes.outbox.add(write.write);
        return true;
      case "save_bulk_job":
      case "add_bulk_tasks":
      case "end_bulk_task":
      case "delete_bulk":
        this.writes.bulk.add(write);
        return true;
      default:
        this.writes.admin.add(write);
        return true;
    }
  }

  #insert(task: TaskRecord, request: TaskRequest): boolean {
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
    this.writes.insert(task, request);
    return true;
  }

  #save({ before, task, journal, forgets, outcome }: Extract<TableWrite, { do: "save" }>): void {
    const { tasks, entries, keyed, below } = this.#facts;
    if (tasks.has(task.id)) this.deltas.replaced(before, task);
    if (before.idempotencyKey !== null && task.idempotencyKey === null)
      keyed.delete(keyName(before.principal, before.idempotencyKey));
    tasks.set(task.id, task);
    if (task.parent !== null && isTerminal(task.state)) {
      const { root } = task.parent;
      below.set(root, (below.get(root) ?? new Set()).add(task.id));
    }
    this.writes.save(before, task);
    const known = entries.get(task.id) ?? new Map<string, JournalEntry | Error>();
    entries.set(task.id, known);
    if (forgets === "failures") {
      for (const [key, entry] of known) if (!(entry instanceof Error) && isFailure(entry)) known.delete(key);
      this.writes.forgetFailures(task.id, isFailure);
    } else if (forgets !== undefined) {
      for (const [key, entry] of known)
        if (!(entry instanceof Error) && goesWith(forgets, entry)) known.delete(key);
      this.writes.forgetRounds(task.id, forgets);
    }
    for (const entry of journal) known.set(entry.key, entry);
    this.writes.journal(task, journal);
    if (outcome !== null) this.writes.outcome(task.id, outcome);
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
    this.writes.remove(id);
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
