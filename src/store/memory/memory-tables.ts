import { hasExpired, isOver } from "../../task/expiry.ts";
import { type JournalEntry, childInputKey, type InputRequest } from "../../task/journal.ts";
import type { StoredDelivery } from "../../task/delivery.ts";
import type { Usage } from "../../task/queue.ts";
import type { TaskRecord, TaskRequest } from "../../task/record.ts";
import { isTerminal } from "../../task/outcome.ts";
import type { KeyedTask, TaskFilter, WireName } from "../store.ts";
import type { FairQuery } from "../fair-order.ts";
import type { DeliveryQuery, ExcessQuery } from "../outbox.ts";
import type { TaskTables } from "../task-tables.ts";
import type {
  EventFacts,
  EventQuery,
  QueuedTasks,
  RunnableTasks,
  RunningQuery,
  RunningTasks,
  ToWakeQuery,
} from "../facts.ts";
import type { TableWrite } from "../table-write.ts";
import { take } from "../take.ts";
import { compareText, MemoryLists } from "./memory-lists.ts";
import { MemoryAdmin } from "./memory-admin.ts";
import type { MemoryLine } from "./memory-line.ts";
import { MemoryOwners } from "./memory-owners.ts";
import { MemoryQueue } from "./memory-queue.ts";
import { MemoryReports } from "./memory-reports.ts";
import { MemoryKeys } from "./memory-keys.ts";
import { MemoryOutbox } from "./memory-outbox.ts";
import { MemorySweeps } from "./memory-sweeps.ts";
import { appendLines, forgetFailures, newlyStored, openInputs, type StoredTask } from "./stored-task.ts";
import { SortedSet } from "./sorted-set.ts";

/** The tables as Maps, with Maps and sorted sets as indexes. */
export class MemoryTables implements TaskTables {
  readonly stored = new Map<string, StoredTask>();
  readonly unfinished = new SortedSet<string>(compareText);
  readonly sweeps = new MemorySweeps();
  readonly #lists = new MemoryLists();
  readonly #keys = new MemoryKeys();
  readonly #idByWireId = new Map<string, string>();
  readonly #usage = new UsageCounts();
  readonly queue = new MemoryQueue();
  readonly owners = new MemoryOwners();
  readonly admin = new MemoryAdmin(this.stored);
  readonly #children = new MemoryChildren();
  readonly #secrets = new Map<string, string>();
  readonly ofSessions = new MemorySessionTasks(this.stored);
  readonly outbox = new MemoryOutbox();
  readonly reports = new MemoryReports();

  task(id: string): TaskRecord | undefined {
    return this.stored.get(id)?.record;
  }

  entry(id: string, key: string): JournalEntry | undefined {
    return this.stored.get(id)?.journal.get(key);
  }

  children(parent: string): readonly TaskRecord[] {
    return this.#records([...this.#children.of(parent)].toSorted(compareText));
  }

  /** Open questions of the tasks below a root. */
  inputsBelow(root: string): readonly InputRequest[] {
    return [...this.#children.below(root)].toSorted(compareText).flatMap((taskId) => {
      const { journal, record } = this.stored.get(taskId) ?? {};
      const { requiredScopes = [] } = record ?? {};
      return openInputs(journal?.values() ?? []).map((input) => ({
        ...input,
        key: childInputKey({ taskId, key: input.key }),
        ...(requiredScopes.length > 0 && { requiredScopes }),
      }));
    });
  }

  event(taskId: string, query: EventQuery): EventFacts {
    const stored = this.stored.get(taskId);
    return stored === undefined ? {} : stored.events.facts(stored.journal.values(), query);
  }

  taskByIdempotencyKey(principal: string | null, key: string): TaskRecord | undefined {
    const id = this.#keys.find(principal, key);
    return id === undefined ? undefined : this.task(id);
  }

  withKeys(principal: string | null, prefix: string, limit: number): readonly KeyedTask[] {
    return this.#keys.withPrefix(principal, prefix, limit);
  }

  usage(principal?: string): Usage {
    return this.#usage.of(principal);
  }

  lives(owner: string): boolean {
    return this.owners.lives(owner);
  }

  isServed(task: TaskRecord): boolean {
    return this.owners.serve(task);
  }

  runnable(query: FairQuery, owner: string): RunnableTasks {
    const { tasks, ...rest } = this.queue.runnable(query, (line) => this.#mayTake(line, owner));
    return { ...rest, tasks: this.#records(tasks.map(({ id }) => id)), unreadable: [] };
  }

  toWake({ now, limit }: ToWakeQuery): QueuedTasks {
    return { tasks: this.#records(this.sweeps.toWake(now, limit)), unreadable: [] };
  }

  running({ owner, after, limit, now }: RunningQuery): RunningTasks {
    if (this.owners.lives(owner)) return { alive: true, tasks: [], unreadable: [], next: null };
    const isLost = (task: TaskRecord): boolean => isRunBy(owner)(task) && !hasExpired(task, now);
    const tasks = take(this.#unfinishedAfter(after), limit, isLost);
    const next = tasks.length < limit ? null : (tasks.at(-1)?.id ?? null);
    return { alive: false, tasks, unreadable: [], next };
  }

  deliveries(query: DeliveryQuery): readonly StoredDelivery[] {
    return this.outbox.deliveries(query);
  }

  excessDeliveries(query: ExcessQuery): readonly number[] {
    return this.outbox.excess(query);
  }

  secret(name: string): string | undefined {
    return this.#secrets.get(name);
  }

  write(write: TableWrite): boolean {
    switch (write.do) {
      case "insert":
        return this.#insert(write.task, write.request);
      case "save":
        this.#save(write);
        return true;
      case "append_lines":
        appendLines(this.stored.get(write.id), write);
        return true;
      case "release_key":
        this.#releaseKey(write.id, write.deleteBy);
        return true;
      case "remove":
        this.#remove(write.id);
        return true;
      case "keep_event":
        this.stored
          .get(write.taskId)
          ?.events.keep(write.name, write.taken ? null : write.value, write.dedupeId);
        return true;
      case "take_event":
        this.stored.get(write.taskId)?.events.take(write.seq);
        return true;
      case "keep_secret":
        this.#secrets.set(write.name, write.value);
        return true;
      case "write_outbox":
        this.outbox.write(write.write);
        return true;
      case "retire_owner":
        this.#retire(write.owner, write.forgetAt);
        return true;
      default:
        this.admin.write(write);
        return true;
    }
  }

  #insert(task: TaskRecord, request: TaskRequest): boolean {
    const wireId = wireIndex(task);
    if (this.stored.has(task.id) || this.#idByWireId.has(wireId)) return false;
    this.stored.set(task.id, newlyStored(task, request));
    this.#children.add(task);
    this.#idByWireId.set(wireId, task.id);
    this.#lists.add(task);
    this.ofSessions.add(task.id, request);
    this.#keys.add(task);
    this.#index(task);
    this.#usage.add(task, Number(!isTerminal(task.state)), 1);
    return true;
  }

  #save({ task, journal, forgets, outcome }: Extract<TableWrite, { do: "save" }>): void {
    const stored = this.stored.get(task.id);
    if (stored === undefined) return;
    this.#unindex(stored.record);
    const ended = isTerminal(task.state) && !isTerminal(stored.record.state);
    if (ended) this.#usage.add(task, -1, 0);
    stored.record = task;
    this.#index(task);
    if (forgets === "failures") forgetFailures(stored.journal);
    for (const entry of journal) stored.journal.set(entry.key, entry);
    if (outcome !== null) stored.outcome = outcome;
  }

  #releaseKey(id: string, deleteBy: number | null): void {
    const stored = this.stored.get(id);
    if (stored === undefined) return;
    const { record } = stored;
    this.#keys.delete(record);
    this.#unindex(record);
    const sweepAt = deleteBy === null ? record.sweepAt : Math.min(record.sweepAt ?? Infinity, deleteBy);
    stored.record = { ...record, idempotencyKey: null, awaitedBy: [], sweepAt };
    this.#index(stored.record);
  }

  find(wire: WireName): string | undefined {
    return this.#idByWireId.get(wireIndex(wire));
  }

  deletable(now: number, limit: number): readonly string[] {
    return this.sweeps.deletable(now, limit);
  }

  #remove(id: string): void {
    const stored = this.stored.get(id);
    if (stored === undefined) return;
    const { record: task, request } = stored;
    this.ofSessions.delete(id, request);
    this.#unindex(task);
    this.#usage.add(task, -Number(!isTerminal(task.state)), -1);
    this.#children.delete(task);
    this.stored.delete(id);
    this.#idByWireId.delete(wireIndex(task));
    this.#lists.delete(task);
    this.#keys.delete(task);
  }

  unfinishedAfter(after: string, limit: number): readonly TaskRecord[] {
    return take(this.#unfinishedAfter(after), limit);
  }

  list(filter: TaskFilter, before: string | null, limit: number, now: number): readonly TaskRecord[] {
    return take(this.#newestOf(filter, before), limit, (task) => !isOver(task, now));
  }

  *#newestOf(filter: TaskFilter, before: string | null): Generator<TaskRecord, void, undefined> {
    for (const id of this.#lists.newest(filter, before)) {
      const task = this.task(id);
      if (task !== undefined) yield task;
    }
  }

  *#unfinishedAfter(after: string): Generator<TaskRecord, void, undefined> {
    for (const id of this.unfinished.from(after)) {
      const task = this.task(id);
      if (id !== after && task !== undefined) yield task;
    }
  }

  /** Whether an owner may take tasks queued for another owner, or for any. */
  #mayTake({ owner: of, handler }: MemoryLine, owner: string): boolean {
    return of === null || of === owner || !this.owners.keeps(of, handler);
  }

  #retire(owner: string, forgetAt: number | null): void {
    this.owners.retire(owner);
    for (const { messages } of this.stored.values()) {
      const kept = messages.filter((message) => message.owner !== owner);
      messages.splice(0, messages.length, ...kept);
    }
    if (forgetAt === null) return;
    // Not while a task that it ran may still have to be returned: a due cancel can be withdrawn.
    const isLeft = (task: TaskRecord): boolean =>
      isRunBy(owner)(task) && (task.cancelBy !== null || !hasExpired(task, forgetAt));
    if (take(this.#unfinishedAfter(""), 1, isLeft).length === 0) this.owners.forget(owner);
  }

  #records(ids: readonly string[]): readonly TaskRecord[] {
    return ids.flatMap((id) => this.task(id) ?? []);
  }

  #index(task: TaskRecord): void {
    this.queue.add(task);
    if (!isTerminal(task.state)) this.unfinished.add(task.id);
    this.sweeps.add(task);
  }

  #unindex(task: TaskRecord): void {
    this.queue.delete(task);
    if (!isTerminal(task.state)) this.unfinished.delete(task.id);
    this.sweeps.delete(task);
  }
}

function isRunBy(owner: string): (task: TaskRecord) => boolean {
  return (task) => task.state === "running" && task.owner === owner;
}

function wireIndex({ generation, scope, wireId }: WireName): string {
  return JSON.stringify([generation, scope, wireId]);
}

const none: Usage = { unfinished: 0, retained: 0 };

/** The number of tasks, by principal and in total. */
export class UsageCounts {
  readonly #byPrincipal = new Map<string, Usage>();
  #total: Usage = none;

  /** Of all principals if undefined. */
  of(principal: string | undefined): Usage {
    return principal === undefined ? this.#total : (this.#byPrincipal.get(principal) ?? none);
  }

  /** Tasks of callers that are not distinguished count only in the total; tasks made by other tasks do not count. */
  add({ principal, parent }: TaskRecord, unfinished: number, retained: number): void {
    if (parent !== null) return;
    this.#total = sum(this.#total, unfinished, retained);
    if (principal === null) return;
    const usage = sum(this.of(principal), unfinished, retained);
    if (usage.retained === 0) this.#byPrincipal.delete(principal);
    else this.#byPrincipal.set(principal, usage);
  }
}

function sum(usage: Usage, unfinished: number, retained: number): Usage {
  return { unfinished: usage.unfinished + unfinished, retained: usage.retained + retained };
}

/** Tasks by the session of their requests. */
export class MemorySessionTasks {
  readonly #stored: ReadonlyMap<string, StoredTask>;
  readonly #ids = new Map<string, Set<string>>();

  constructor(stored: ReadonlyMap<string, StoredTask>) {
    this.#stored = stored;
  }

  add(id: string, { origin: { session } }: TaskRequest): void {
    if (session !== undefined) this.#ids.set(session, (this.#ids.get(session) ?? new Set()).add(id));
  }

  delete(id: string, { origin: { session = "" } }: TaskRequest): void {
    this.#ids.get(session)?.delete(id);
    if (this.#ids.get(session)?.size === 0) this.#ids.delete(session);
  }

  /** Like `SessionStore.tasksOf`. */
  of(session: string, limit: number, requestId?: string | number): readonly string[] {
    const ids = [...(this.#ids.get(session) ?? [])].toSorted().toReversed();
    const isMeant = (id: string): boolean => {
      const stored = this.#stored.get(id);
      if (stored === undefined) return false;
      return requestId === undefined
        ? !isTerminal(stored.record.state)
        : stored.request.origin.requestId === requestId;
    };
    return ids.filter(isMeant).slice(0, limit);
  }
}

/** The tasks that other tasks made, by their parents. */
export class MemoryChildren {
  readonly #ofParent = new Map<string, Set<string>>();
  readonly #ofRoot = new Map<string, Set<string>>();

  add({ id, parent }: TaskRecord): void {
    if (parent === null) return;
    put(this.#ofParent, parent.id, id);
    put(this.#ofRoot, parent.root, id);
  }

  delete({ id, parent }: TaskRecord): void {
    if (parent === null) return;
    drop(this.#ofParent, parent.id, id);
    drop(this.#ofRoot, parent.root, id);
  }

  of(parent: string): Iterable<string> {
    return this.#ofParent.get(parent) ?? [];
  }

  below(root: string): Iterable<string> {
    return this.#ofRoot.get(root) ?? [];
  }
}

function put(sets: Map<string, Set<string>>, name: string, id: string): void {
  sets.set(name, (sets.get(name) ?? new Set()).add(id));
}

function drop(sets: Map<string, Set<string>>, name: string, id: string): void {
  const set = sets.get(name);
  set?.delete(id);
  if (set?.size === 0) sets.delete(name);
}
