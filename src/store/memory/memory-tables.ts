import { hasExpired, isOver } from "../../task/expiry.ts";
import type { JournalEntry } from "../../task/journal.ts";
import type { Outcome } from "../../task/outcome.ts";
import type { Usage } from "../../task/quota.ts";
import type { TaskRecord, TaskRequest } from "../../task/record.ts";
import { isTerminal } from "../../task/status.ts";
import type { KeyedTask, TaskOwner, WireName } from "../store.ts";
import type { TaskTables } from "../task-tables.ts";
import { SortedSet } from "./sorted-set.ts";
import { UsageCounts } from "./usage-counts.ts";

/** A task with all that belongs to it. */
export interface StoredTask {
  record: TaskRecord;
  readonly request: TaskRequest;
  /** In the order of first writes, which a Map keeps. */
  readonly journal: Map<string, JournalEntry>;
  outcome: Outcome | null;
  /** The queue, its first message first. */
  readonly messages: string[];
}

interface Sweep {
  readonly at: number;
  readonly id: string;
}

/** The tables as Maps, and in place of indexes Maps and sorted sets. */
export class MemoryTables implements TaskTables {
  readonly stored = new Map<string, StoredTask>();
  readonly unfinished = new SortedSet<string>(compareText);
  readonly due = new SortedSet<Sweep>(compareSweeps);
  readonly done = new SortedSet<Sweep>(compareSweeps);
  /** By owner, with and without scope, and by generation alone; the newest come last. */
  readonly #owned = new Map<string, SortedSet<string>>();
  readonly #idByIdempotencyKey = new Map<string, string>();
  /** The keys of the map, in order. */
  readonly #idempotencyKeys = new SortedSet<string>(compareText);
  readonly #idByWireId = new Map<string, string>();
  readonly #usage = new UsageCounts();
  readonly #secrets = new Map<string, string>();
  /** By the session that its request came in. */
  readonly #ofSession = new Map<string, Set<string>>();

  task(id: string): TaskRecord | undefined {
    return this.stored.get(id)?.record;
  }

  entry(id: string, key: string): JournalEntry | undefined {
    return this.stored.get(id)?.journal.get(key);
  }

  taskByIdempotencyKey(principal: string | null, key: string): TaskRecord | undefined {
    const id = this.#idByIdempotencyKey.get(idempotencyIndex(principal, key));
    return id === undefined ? undefined : this.task(id);
  }

  withKeys(principal: string | null, prefix: string, limit: number): readonly KeyedTask[] {
    const found: KeyedTask[] = [];
    const start = idempotencyIndex(principal, prefix);
    for (const index of this.#idempotencyKeys.from(start)) {
      if (found.length >= limit || !index.startsWith(start)) break;
      const id = this.#idByIdempotencyKey.get(index);
      if (id !== undefined) found.push({ id, key: index.slice(idempotencyIndex(principal, "").length) });
    }
    return found;
  }

  usage(principal?: string): Usage {
    return this.#usage.of(principal);
  }

  insert(task: TaskRecord, request: TaskRequest): boolean {
    const wireId = wireIndex(task);
    if (this.stored.has(task.id) || this.#idByWireId.has(wireId)) return false;
    this.stored.set(task.id, { record: task, request, journal: new Map(), outcome: null, messages: [] });
    this.#idByWireId.set(wireId, task.id);
    for (const owner of ownersOf(task)) this.#ownedBy(owner).add(task.id);
    const { session } = request.origin;
    if (session !== undefined) {
      this.#ofSession.set(session, (this.#ofSession.get(session) ?? new Set()).add(task.id));
    }
    if (task.idempotencyKey !== null) {
      const index = idempotencyIndex(task.principal, task.idempotencyKey);
      this.#idByIdempotencyKey.set(index, task.id);
      this.#idempotencyKeys.add(index);
    }
    this.#index(task);
    this.#usage.add(task.principal, Number(!isTerminal(task.state)), 1);
    return true;
  }

  save(task: TaskRecord, journal: readonly JournalEntry[], outcome: Outcome | null): void {
    const stored = this.stored.get(task.id);
    if (stored === undefined) return;
    this.#unindex(stored.record);
    const ended = isTerminal(task.state) && !isTerminal(stored.record.state);
    if (ended) this.#usage.add(task.principal, -1, 0);
    stored.record = task;
    this.#index(task);
    for (const entry of journal) stored.journal.set(entry.key, entry);
    if (outcome !== null) stored.outcome = outcome;
  }

  releaseKey(id: string, deleteBy: number | null): void {
    const stored = this.stored.get(id);
    if (stored === undefined) return;
    const { record } = stored;
    this.#forgetKey(record);
    this.#unindex(record);
    const sweepAt = deleteBy === null ? record.sweepAt : Math.min(record.sweepAt ?? Infinity, deleteBy);
    stored.record = { ...record, idempotencyKey: null, sweepAt };
    this.#index(stored.record);
  }

  find(wire: WireName): string | undefined {
    return this.#idByWireId.get(wireIndex(wire));
  }

  recoverable(after: string, limit: number, now: number): readonly string[] {
    return take(this.#unfinishedAfter(after), limit, (task) => !hasExpired(task, now)).map(({ id }) => id);
  }

  deletable(now: number, limit: number): readonly string[] {
    return sweepsUntil(this.done, now, limit);
  }

  remove(id: string): void {
    const stored = this.stored.get(id);
    if (stored === undefined) return;
    const { record: task, request } = stored;
    const { session = "" } = request.origin;
    this.#ofSession.get(session)?.delete(id);
    if (this.#ofSession.get(session)?.size === 0) this.#ofSession.delete(session);
    this.#unindex(task);
    this.#usage.add(task.principal, -Number(!isTerminal(task.state)), -1);
    this.stored.delete(id);
    this.#idByWireId.delete(wireIndex(task));
    for (const owner of ownersOf(task)) this.#disown(owner, id);
    this.#forgetKey(task);
  }

  keepSecret(name: string, value: string): string {
    const kept = this.#secrets.get(name) ?? value;
    this.#secrets.set(name, kept);
    return kept;
  }

  nextSweepAt(after: number): number | null {
    let next: number | null = null;
    for (const sweeps of [this.due, this.done]) {
      const [first] = take(sweeps.from({ at: after, id: "" }), 1, ({ at }) => at > after);
      if (first !== undefined && (next === null || first.at < next)) next = first.at;
    }
    return next;
  }

  unfinishedAfter(after: string, limit: number): readonly TaskRecord[] {
    return take(this.#unfinishedAfter(after), limit, () => true);
  }

  list(owner: TaskOwner, before: string | null, limit: number, now: number): readonly TaskRecord[] {
    return take(this.#newestOf(owner, before), limit, (task) => !isOver(task, now));
  }

  /** As `SessionStore.tasksOf`. */
  tasksOf(session: string, limit: number, requestId?: string | number): readonly string[] {
    const ids = [...(this.#ofSession.get(session) ?? [])].toSorted().toReversed();
    const isMeant = (id: string): boolean => {
      const stored = this.stored.get(id);
      if (stored === undefined) return false;
      return requestId === undefined
        ? !isTerminal(stored.record.state)
        : stored.request.origin.requestId === requestId;
    };
    return ids.filter(isMeant).slice(0, limit);
  }

  *#newestOf(owner: TaskOwner, before: string | null): Generator<TaskRecord, void, undefined> {
    for (const id of this.#owned.get(ownerIndex(owner))?.below(before) ?? []) {
      const task = this.task(id);
      if (task !== undefined) yield task;
    }
  }

  #ownedBy(owner: string): SortedSet<string> {
    const owned = this.#owned.get(owner) ?? new SortedSet<string>(compareText);
    this.#owned.set(owner, owned);
    return owned;
  }

  #disown(owner: string, id: string): void {
    const owned = this.#ownedBy(owner);
    owned.delete(id);
    if (owned.first() === undefined) this.#owned.delete(owner);
  }

  *#unfinishedAfter(after: string): Generator<TaskRecord, void, undefined> {
    for (const id of this.unfinished.from(after)) {
      const task = this.task(id);
      if (id !== after && task !== undefined) yield task;
    }
  }

  #forgetKey({ principal, idempotencyKey }: TaskRecord): void {
    if (idempotencyKey === null) return;
    const index = idempotencyIndex(principal, idempotencyKey);
    this.#idByIdempotencyKey.delete(index);
    this.#idempotencyKeys.delete(index);
  }

  #index(task: TaskRecord): void {
    if (!isTerminal(task.state)) this.unfinished.add(task.id);
    if (task.sweepAt !== null) this.#sweeps(task).add({ at: task.sweepAt, id: task.id });
  }

  #unindex(task: TaskRecord): void {
    if (!isTerminal(task.state)) this.unfinished.delete(task.id);
    if (task.sweepAt !== null) this.#sweeps(task).delete({ at: task.sweepAt, id: task.id });
  }

  #sweeps(task: TaskRecord): SortedSet<Sweep> {
    return isTerminal(task.state) ? this.done : this.due;
  }
}

/** Ids whose time has come at `now`, earliest first. */
export function sweepsUntil(sweeps: SortedSet<Sweep>, now: number, limit: number): string[] {
  const ids: string[] = [];
  for (const { at, id } of sweeps.from({ at: -Infinity, id: "" })) {
    if (at > now || ids.length >= limit) break;
    ids.push(id);
  }
  return ids;
}

function take<T>(entries: Iterable<T>, limit: number, wanted: (entry: T) => boolean): T[] {
  const taken: T[] = [];
  if (limit <= 0) return taken;
  for (const entry of entries) {
    if (wanted(entry)) taken.push(entry);
    if (taken.length >= limit) break;
  }
  return taken;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function compareSweeps(a: Sweep, b: Sweep): number {
  return a.at === b.at ? compareText(a.id, b.id) : a.at - b.at;
}

/** The key comes last, so that keys which begin alike stand together. */
function idempotencyIndex(principal: string | null, key: string): string {
  return JSON.stringify(principal ?? "") + key;
}

function ownerIndex({ generation, principal, scope }: TaskOwner): string {
  return JSON.stringify({ generation, principal, scope }); // what is undefined is left out
}

function ownersOf({ generation, principal, scope }: TaskRecord): readonly string[] {
  const owners: TaskOwner[] = [{ generation, principal }, { generation }];
  if (scope !== "") owners.push({ generation, principal, scope }, { generation, scope });
  return owners.map(ownerIndex);
}

function wireIndex({ generation, scope, wireId }: WireName): string {
  return JSON.stringify([generation, scope, wireId]);
}
