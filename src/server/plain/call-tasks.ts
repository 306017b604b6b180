import { readIdempotencyKey } from "../../generation/extensions.ts";
import { metaOf } from "../../generation/message.ts";
import type { Runtime, TaskCall } from "../../runtime/runtime.ts";
import type { Registry } from "../../runtime/tool/registry.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import type { PlainPolicy } from "../../runtime/tool/tool-options.ts";
import { HoldfastError, isUnknownTask, isUnreadable } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import { taskCallOf } from "../waiting-call.ts";
import { askable, generation, type PlainCall, scopeOf } from "./plain-policies.ts";
import { callKeys, furtherKey, isCallKey, isKeyOf, type CallKeys } from "../../runtime/call-keys.ts";
import { type Deliveries, retryMs } from "./delivery.ts";
import { newReference } from "../named-tasks.ts";

/** What the tool's `prepare` returned, if it ran in rounds of the call, before there is a task. */
export interface Prepared {
  readonly prepared: string | null;
  /** What makes the last of several rounds the same call when it is sent again: the state that it answers is used once. */
  readonly once?: { readonly idempotencyKey: string; readonly answers: unknown };
}

/** A call that needs a task. */
export interface Opening {
  readonly tool: Tool;
  readonly policy: PlainPolicy;
  readonly call: PlainCall;
  readonly preparation: Prepared | undefined;
}

/** The task of a call. */
export interface Opened {
  readonly task: TaskRecord;
  /** Whether this call has made it. */
  readonly isNew: boolean;
  /** Call it as soon as the call waits for the task, which then keeps other calls from joining it. */
  readonly release: () => void;
}

type Found = Pick<Opened, "task" | "isNew">;

/** How often a new reference may be taken already. With 39 bits, the first one is almost always free. */
const mostTries = 20;

/** Creates the tasks of calls, or joins a call to the task that an earlier call of the same caller has created. */
export class CallTasks {
  readonly #runtime: Runtime;
  readonly #claims: KeyClaims;
  readonly #deliveries: Deliveries;

  constructor(runtime: Runtime, deliveries: Deliveries) {
    this.#runtime = runtime;
    this.#claims = new KeyClaims(runtime, deliveries);
    this.#deliveries = deliveries;
  }

  /**
   * The task of the call: a new one, or one of the same caller for the same tool and arguments whose result was not delivered. An
   * idempotency key of the caller's own takes precedence. Rejects as `create` does.
   */
  async open(opening: Opening): Promise<Opened> {
    const { tool, call, preparation } = opening;
    const { owner, request } = call;
    const ownKey = readIdempotencyKey(metaOf(request.params), owner.principal);
    // What was prepared depends on the caller's answers, which may differ in another call.
    const joins = ownKey === undefined && tool.joinCalls !== false && preparation === undefined;
    const { params, auth } = request;
    const keys =
      joins && scopeOf(owner) !== undefined
        ? callKeys(await this.#runtime.secret("call-keys"), {
            ...owner,
            tool: tool.name,
            arguments: params["arguments"],
            claims: auth?.claims,
          })
        : undefined;
    if (keys === undefined) {
      const found = await this.#create(ownKey ?? preparation?.once?.idempotencyKey, opening);
      return { ...found, release: () => undefined };
    }
    return joinsWhileAwaited(tool) ? this.#joinAny(keys, opening) : this.#joinFree(keys, opening);
  }

  /** Joins the task with the key, no matter who waits for it; creates it if there is none. */
  async #joinAny({ key: sameCall, others }: CallKeys, opening: Opening): Promise<Opened> {
    const { signal } = opening.call.request;
    let key = sameCall;
    for (let unreadable = 0; ;) {
      try {
        const found = (await this.#earlier(others, opening.call)) ?? (await this.#create(key, opening));
        if (found.isNew) return { ...found, release: () => undefined };
        const terms = { key: found.task.idempotencyKey ?? key, alone: false, signal };
        const joined = await this.#deliveries.join(found.task, terms);
        if (joined.kind === "joined") return { isNew: false, ...joined };
      } catch (error) {
        if (!isUnreadable(error)) throw error;
        // The damaged task does not give up its key. This one is the same for each of the next calls, so that they join.
        unreadable += 1;
        key = furtherKey(sameCall, `unreadable-${unreadable}`);
      }
    }
  }

  /** A task that was made with an earlier version of the secret of such keys. */
  async #earlier(keys: readonly string[], call: PlainCall): Promise<Found | undefined> {
    for (const key of keys) {
      const [keyed] = await this.#runtime.withKeys(call.owner.principal, key, 1);
      const found = keyed && (await this.#find(keyed.id, call));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Joins a task of the same call that no caller waits for; creates one if there is none. */
  async #joinFree(keys: CallKeys, opening: Opening): Promise<Opened> {
    const { signal } = opening.call.request;
    const tried = new Tried();
    for (;;) {
      const { key, task: id, release } = await this.#claims.claim(keys, opening.call, tried);
      try {
        const found =
          id === undefined ? await this.#create(key, opening) : await this.#find(id, opening.call);
        if (found?.isNew === true) return { ...found, release };
        if (found === undefined) {
          if (id !== undefined) tried.gone.add(id);
        } else {
          const joined = await this.#deliveries.join(found.task, { key, alone: true, signal });
          if (joined.kind === "joined") {
            const both = (): void => {
              release();
              joined.release();
            };
            return { task: joined.task, isNew: false, release: both };
          }
          if (joined.kind === "awaited") tried.awaited.set(joined.task.id, joined.task);
          // A task may have got its current key in this moment, under which it is found again.
          else if (!isKeyOf(key, keys.others)) tried.gone.add(found.task.id);
        }
      } catch (error) {
        release();
        throw error;
      }
      release();
    }
  }

  /** Undefined if the task is damaged or deleted. */
  async #find(id: string, { owner }: PlainCall): Promise<Found | undefined> {
    const { principal, scopes } = owner;
    try {
      const { task } = await this.#runtime.get(id, { generation, principal, scopes });
      return { task, isNew: false };
    } catch (error) {
      if (isUnknownTask(error) || isUnreadable(error)) return undefined;
      throw error;
    }
  }

  /** Creates the task of the call, or finds the one that has the key. */
  async #create(key: string | undefined, opening: Opening): Promise<Found> {
    const taskCall = plainTaskCall(this.#runtime.registry, key, opening);
    const scope = scopeOf(opening.call.owner);
    // Nobody finds a task without a scope by a reference, nor joins it.
    if (scope === undefined) {
      const { task } = await this.#runtime.create(taskCall);
      return { task, isNew: key === undefined };
    }
    for (let tries = 1; ; tries++) {
      const wireId = newReference((size) => this.#runtime.clock.randomBytes(size));
      try {
        const { task } = await this.#runtime.create({ ...taskCall, scope, wireId });
        return { task, isNew: task.wireId === wireId };
      } catch (error) {
        if (!isTaken(error) || tries === mostTries) throw error;
      }
    }
  }
}

function plainTaskCall(
  registry: Registry,
  key: string | undefined,
  { tool, policy, call, preparation }: Opening,
): TaskCall {
  const { principal, scopes, session } = call.owner;
  const hasOwnKey = key !== undefined && !isCallKey(key);
  const requestor = { generation, principal, scopes } as const;
  const capabilities = askable(call.capabilities, policy);
  return {
    ...taskCallOf(registry, tool, call.request, { requestor, capabilities, session }),
    ...preparationOf(tool, preparation, key),
    ...(key === undefined ? {} : { idempotencyKey: key }),
    ...(isCallKey(key ?? null) ? { awaited: true } : {}),
    ...(hasOwnKey ? { promised: true } : {}),
    ...(policy === "wait" && !hasOwnKey ? { keptMs: retryMs } : {}),
  };
}

function preparationOf(
  tool: Tool,
  preparation: Prepared | undefined,
  key: string | undefined,
): Pick<TaskCall, "prepared" | "answers" | "prepareInTask"> {
  if (preparation === undefined) return tool.prepare === undefined ? {} : { prepareInTask: true };
  const { prepared, once } = preparation;
  return { prepared, ...(key !== undefined && key === once?.idempotencyKey && { answers: once.answers }) };
}

/** Whether a call may join a task that another call waits for, because it makes no difference whether the tool runs once or twice. */
function joinsWhileAwaited({ joinCalls, annotations }: Tool): boolean {
  return joinCalls ?? (annotations?.idempotentHint === true || annotations?.readOnlyHint === true);
}

function isTaken(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "wire_id_taken";
}

export interface ClaimedKey {
  readonly key: string;
  /** The task that has the key; undefined if the key is free. */
  readonly task: string | undefined;
  readonly release: () => void;
}

/** Tasks of the same call that a call could not join. */
export class Tried {
  /** For good. */
  readonly gone = new Set<string>();
  /** Since callers in other processes wait for them, as they were then. */
  readonly awaited = new Map<string, TaskRecord>();
  /** Whether it has waited for news that other callers left. */
  hasWaited = false;
}

/** How many tasks of the same call are read at first. More of them run at a time only under unusual load. */
const firstPage = 8;

/** How much later than the next call of its client the news that a call was given up may come, in ms. */
const overtakenMs = 1_000;

/**
 * Chooses the task that a call joins if it must not join one that another call waits for. A claim holds the chosen key from then until the
 * call waits for its task. Callers in other processes become known when the task is joined.
 */
export class KeyClaims {
  readonly #runtime: Runtime;
  readonly #deliveries: Pick<Deliveries, "isAwaited" | "callersOf" | "onLeave">;
  readonly #claims = new Map<string, Set<PlainCall>>();

  constructor(runtime: Runtime, deliveries: Pick<Deliveries, "isAwaited" | "callersOf" | "onLeave">) {
    this.#runtime = runtime;
    this.#deliveries = deliveries;
  }

  /** Claims the key of a task that no caller waits for: its caller gave up, or its process is gone. If there is none, claims a free key. */
  async claim({ key: sameCall, others }: CallKeys, call: PlainCall, tried: Tried): Promise<ClaimedKey> {
    const { principal } = call.owner;
    for (let limit = firstPage; ;) {
      const pages = await Promise.all(
        [sameCall, ...others].map((each) => this.#runtime.withKeys(principal, each, limit)),
      );
      const keyed = pages.flat();
      const free = keyed.find(
        ({ id, key }) =>
          !tried.gone.has(id) &&
          !tried.awaited.has(id) &&
          !this.#deliveries.isAwaited(id) &&
          !this.#isClaimed(principal, key),
      );
      if (free === undefined && pages.some((page) => page.length === limit)) {
        limit *= 2;
        continue;
      }
      if (free === undefined && !tried.hasWaited) {
        tried.hasWaited = true;
        const ids = keyed.map(({ id }) => id).filter((id) => !tried.gone.has(id));
        if (await this.#hasLeft(ids, call, tried)) continue;
      }
      const isNew = keyed.every(({ key }) => key !== sameCall) && !this.#isClaimed(principal, sameCall);
      const key = free?.key ?? (isNew ? sameCall : furtherKey(sameCall, this.#runtime.clock.uniqueName()));
      return { key, task: free?.id, release: this.#enter(principal, key, call) };
    }
  }

  /**
   * A client that times out may cancel its call and repeat it in the same moment, each on its own connection. So if calls of its session,
   * or calls in other processes, have waited for these tasks for some time, the news that one has left may not have arrived: resolves with
   * whether it came.
   */
  async #hasLeft(ids: readonly string[], { owner }: PlainCall, { awaited }: Tried): Promise<boolean> {
    const { clock } = this.#runtime;
    const hasWaited = (ms: number): boolean => ms >= overtakenMs;
    const [now, elapsed] = [clock.now(), clock.elapsed()];
    const here = ids.filter((id) =>
      [...this.#deliveries.callersOf(id)].some(
        ([call, since]) => call.owner.session === owner.session && hasWaited(elapsed - since),
      ),
    );
    const elsewhere = [...awaited.values()].filter(({ createdAt }) => hasWaited(now - createdAt));
    if (here.length === 0 && elsewhere.length === 0) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const look = async (task: TaskRecord): Promise<void> => {
      if (!(await this.#isLeft(task))) return;
      awaited.delete(task.id);
      resolve(true);
    };
    const ends = [
      clock.after(overtakenMs, () => resolve(false)),
      this.#deliveries.onLeave(here, () => resolve(true)),
      ...elsewhere.map((task) => this.#runtime.watch([task.id], () => void look(task))),
    ];
    for (const task of elsewhere) void look(task); // it may have changed before it was watched
    try {
      return await promise;
    } finally {
      for (const end of ends) end();
    }
  }

  /** Whether callers in a process that waited for the task no longer do; true if the task cannot be read, which the next read reports. */
  async #isLeft(task: TaskRecord): Promise<boolean> {
    try {
      const now = await this.#runtime.get(task.id, task);
      return task.awaitedBy.some((owner) => !now.task.awaitedBy.includes(owner));
    } catch {
      return true;
    }
  }

  /** A call whose connection broke holds no claim: the next call should join it. */
  #isClaimed(principal: string | null, key: string): boolean {
    const calls = this.#claims.get(claimOf(principal, key)) ?? [];
    return [...calls].some((call) => call.isWaitedFor());
  }

  #enter(principal: string | null, key: string, call: PlainCall): () => void {
    const claim = claimOf(principal, key);
    const calls = this.#claims.get(claim) ?? new Set();
    this.#claims.set(claim, calls.add(call));
    return () => {
      calls.delete(call);
      if (calls.size === 0 && this.#claims.get(claim) === calls) this.#claims.delete(claim);
    };
  }
}

function claimOf(principal: string | null, key: string): string {
  return JSON.stringify([principal, key]);
}
