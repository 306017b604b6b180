import type { ReserveMemory } from "../store/store.ts";
import { assertScopes, hasScopes } from "../task/scopes.ts";
import type { TaskCommand } from "../task/command.ts";
import { isLeft } from "../task/decide.ts";
import { generations, listedGenerations, type TaskRecord, type TaskSnapshot } from "../task/record.ts";
import type { ListPage, Requestor } from "./runtime.ts";
import type { StoreClock } from "./clock.ts";
import type { Services } from "./services.ts";
import { isStopping, unknownTask } from "../task/fault.ts";
import { isDue, isGone, type Sweeper } from "./dispatch/sweeper.ts";

/** A page of a requestor's tasks. Tasks that need more scopes than it has are left out, without making the page shorter. */
export async function listVisible(
  { store, clock }: Services,
  { generation, principal, scopes }: Requestor,
  { scope, after, limit }: ListPage,
): Promise<readonly TaskRecord[]> {
  const owner = { generation, principal, ...(scope === undefined ? {} : { scope }) };
  const now = clock.pastForAll; // of those that began since a jump, some are gone by then
  const tasks: TaskRecord[] = [];
  for (let before = after ?? null; tasks.length < limit;) {
    const wanted = limit - tasks.length;
    const page = await store.list(owner, before, wanted, now);
    tasks.push(...page.filter((task) => hasScopes(task, scopes) && !isGone(task, clock)));
    const last = page.at(-1);
    if (page.length < wanted || last === undefined) break;
    before = last.id;
  }
  return tasks;
}

/** How many of these writes may be under way. Beyond that, the next delivery of a result counts as its first. */
const mostWrites = 1_000;

/**
 * Records who got a result first, for audits (S-095, C-129).
 * - No answer waits for the write, and clients see nothing of it.
 * - A result is recorded at most once, by whichever process is first; a crash may lose it.
 */
export class Retrievals {
  readonly #services: Pick<Services, "store" | "clock" | "onError">;
  /** By the id of the task. */
  readonly #writes = new Map<string, Promise<void>>();

  constructor(services: Pick<Services, "store" | "clock" | "onError">) {
    this.#services = services;
  }

  /** The result of the task, as it was read, goes to its requestor. `via`: the method, or the polling tool, that carries it. */
  deliver({ id, outcomeKind, retrieved }: TaskRecord, via: string): void {
    if (outcomeKind === null || retrieved !== undefined || this.#writes.has(id)) return;
    if (this.#writes.size >= mostWrites) return;
    this.#writes.set(id, this.#write(id, via));
  }

  /** Resolves when the writes that are under way have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#writes.values());
  }

  async #write(id: string, via: string): Promise<void> {
    const { store, clock, onError } = this.#services;
    try {
      await store.write({ type: "retrieve", now: clock.now(), id, via });
    } catch (error) {
      if (!isStopping(error)) onError(error); // like the crash of one, a stop may lose it
    } finally {
      this.#writes.delete(id);
    }
  }
}

/**
 * Ends tasks that nobody can ask for, because their ids did not reach their clients.
 * - Only those that cannot be found otherwise: by an idempotency key, in a list, or under a name that the client chose.
 * - Such a task is cancelled `abandonAfterMs` later, if it has not ended by then. That is stored with it, so any process does it. A cancel
 *   that somebody asked for stays as it is.
 * - The first request with its id shows that the id arrived after all. From then on the task goes on for good.
 * - No answer waits for these writes. If the process dies before the first one, the task goes on.
 */
export class Abandonments {
  readonly #services: Pick<Services, "store" | "clock" | "onError" | "options">;
  readonly #onSweepAt: (at: number | null) => void;
  readonly #writes = new Set<Promise<void>>();

  /** `onSweepAt`: called with the time at which an abandoned task is due. */
  constructor(
    services: Pick<Services, "store" | "clock" | "onError" | "options">,
    onSweepAt: (at: number | null) => void,
  ) {
    this.#services = services;
    this.#onSweepAt = onSweepAt;
  }

  /** The answer with the task's id did not reach its client. */
  undelivered(task: TaskRecord): void {
    const { abandonAfterMs } = this.#services.options;
    if (abandonAfterMs === null || !isFoundByIdOnly(task)) return;
    this.#leave(task, { promised: false, cancelBy: this.#services.clock.now() + abandonAfterMs });
  }

  /** Its requestor has asked for the task by its id. */
  asked(task: TaskRecord): void {
    if (isLeft(task) && isFoundByIdOnly(task)) this.#leave(task, { promised: true, cancelBy: null });
  }

  /** Resolves when the writes that are under way have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#writes);
  }

  #leave({ id }: TaskRecord, how: Pick<TaskCommand<"leave">, "promised" | "cancelBy">): void {
    const { store, clock, onError } = this.#services;
    const written = store
      .write<"leave">({ type: "leave", now: clock.now(), id, stays: false, ...how })
      .then((result) => void (result.ok && this.#onSweepAt(result.task.sweepAt)))
      // A server that stops closes the connections of its clients.
      .catch((error: unknown) => void (isStopping(error) || onError(error)))
      .finally(() => this.#writes.delete(written));
    this.#writes.add(written);
  }
}

/** Whether a client finds the task only by the id that the server told it. */
function isFoundByIdOnly({ generation, principal, idempotencyKey }: TaskRecord): boolean {
  if (idempotencyKey !== null || generations[generation].requestorsNameTasks) return false;
  return principal === null || !listedGenerations.includes(generation);
}

/**
 * The record of a requestor's task, ended if it has expired. Reads no outcome, which may be large, so that refusing another's task takes
 * no longer than an unknown one. Throws `unknown_task` for another requestor's task, for an expired one, and if a scope is missing.
 */
export async function ownRecord(
  { store, clock }: Services,
  sweeper: Pick<Sweeper, "ended">,
  id: string,
  requestor: Requestor,
): Promise<TaskRecord> {
  const found = await store.get(id);
  if (found === undefined) throw unknownTask();
  assertVisible(found, requestor, clock);
  const task = await sweeper.ended(found);
  if (task !== found) assertVisible(task, requestor, clock);
  return task;
}

/**
 * A requestor's task in one read, with the same faults as `ownRecord`. Here too, no outcome of another's task is read. An expired task is
 * ended first.
 */
export async function ownSnapshot(
  services: Services,
  sweeper: Pick<Sweeper, "ended">,
  id: string,
  requestor: Requestor,
  reserve?: ReserveMemory,
): Promise<TaskSnapshot> {
  const { store, clock } = services;
  let found: TaskRecord | undefined;
  const isVisible = (task: TaskRecord): boolean => {
    found = task;
    return isKnown(task, requestor, clock) && hasScopes(task, requestor.scopes) && !isDue(task, clock);
  };
  let snapshot = await store.snapshot(id, isVisible, reserve);
  if (snapshot === undefined && found !== undefined) {
    assertVisible(found, requestor, clock);
    await ownRecord(services, sweeper, id, requestor);
    snapshot = await store.snapshot(id, undefined, reserve);
  }
  if (snapshot === undefined) throw unknownTask();
  assertVisible(snapshot.task, requestor, clock); // whatever the store made of `isVisible`
  return snapshot;
}

function assertVisible(task: TaskRecord, requestor: Requestor, clock: StoreClock): void {
  if (!isKnown(task, requestor, clock)) throw unknownTask();
  assertScopes(task, requestor.scopes);
}

function isKnown(task: TaskRecord, { generation, principal }: Requestor, clock: StoreClock): boolean {
  return task.principal === principal && task.generation === generation && !isGone(task, clock);
}

/** The scopes that a task of the principal needs; undefined if there is none, or it has expired. */
export async function ownScopes(
  { store, clock }: Services,
  id: string,
  principal: string | null,
): Promise<readonly string[] | undefined> {
  const task = await store.get(id);
  if (task === undefined || task.principal !== principal || isGone(task, clock)) return undefined;
  return task.parent === null ? task.requiredScopes : undefined; // a task below another is no requestor's
}
