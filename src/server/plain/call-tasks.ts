import { readIdempotencyKey } from "../../generation/idempotency-key.ts";
import { metaOf } from "../../generation/meta.ts";
import type { Runtime, TaskCall } from "../../runtime/runtime.ts";
import type { PlainPolicy, Tool } from "../../runtime/tool/tool.ts";
import { HoldfastError, isUnknownTask, isUnreadable } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import { originOf } from "../request.ts";
import { askable } from "./capabilities.ts";
import { callKey, furtherKey, isCallKey } from "./call-keys.ts";
import { retryMs, type Deliveries, type MayComeBack } from "./delivery.ts";
import { KeyClaims } from "./key-claims.ts";
import { generation, scopeOf, type PlainCall } from "./plain-call.ts";
import { newReference } from "./references.ts";

/** What the tool's `prepare` returned, if it ran in rounds of the call, before there is a task. */
export interface Prepared {
  readonly prepared: string | null;
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
  readonly mayComeBack: MayComeBack;
  /** To be called as soon as the call waits for the task, which then keeps other calls from joining it. */
  readonly release: () => void;
}

interface Found {
  readonly task: TaskRecord;
  readonly isNew: boolean;
  /** Whether the task was to be cancelled, since its last caller left without a way back but the same call. */
  readonly wasLeft?: boolean;
}

/** How often a new reference may be taken already. With 39 bits, the first one is almost always free. */
const mostTries = 20;

/** Creates the tasks of calls, or joins a call to the task that an earlier call of the same caller has created. */
export class CallTasks {
  readonly #runtime: Runtime;
  readonly #deliveries: Deliveries;
  readonly #claims: KeyClaims;

  constructor(runtime: Runtime, deliveries: Deliveries) {
    this.#runtime = runtime;
    this.#deliveries = deliveries;
    this.#claims = new KeyClaims(runtime, deliveries);
  }

  /**
   * The task of the call: a new one, or one of the same caller for the same tool and arguments whose result no caller has
   * received. An idempotency key of the caller's own takes precedence. Rejects as `create` does.
   */
  async open(opening: Opening): Promise<Opened> {
    const { tool, policy, call, preparation } = opening;
    const { owner, request } = call;
    const ownKey = readIdempotencyKey(metaOf(request.params), owner.principal);
    // What was prepared depends on the caller's answers, which may differ in another call.
    const joins = ownKey === undefined && tool.joinCalls !== false && preparation === undefined;
    const { params, auth } = request;
    const key = joins ? callKey(owner, tool.name, params["arguments"], auth?.claims) : undefined;
    if (key === undefined) {
      const { task, isNew } = await this.#create(ownKey, opening);
      return { task, isNew, mayComeBack: ownKey === undefined ? "no" : "yes", release: () => undefined };
    }
    const { task, isNew, wasLeft, release } = joinsWhileAwaited(tool)
      ? { ...(await this.#joinAny(key, opening)), release: () => undefined }
      : await this.#joinFree(key, opening);
    return {
      task,
      isNew,
      mayComeBack: isNew || wasLeft === true || policy === "wait" ? "no" : "unknown",
      release,
    };
  }

  /** Joins the task that has the key, whoever waits for it; creates it if there is none. */
  async #joinAny(sameCall: string, opening: Opening): Promise<Found> {
    let key = sameCall;
    for (let unreadable = 0; ;) {
      try {
        const found = await this.#unlessDelivered(await this.#create(key, opening), key);
        if (found !== undefined) return found;
      } catch (error) {
        if (!isUnreadable(error)) throw error;
        // The damaged task does not give up its key. This one is the same for each of the next calls, so that they join.
        unreadable += 1;
        key = furtherKey(sameCall, `unreadable-${unreadable}`);
      }
    }
  }

  /** Joins a task of the same call that nobody waits for; creates one if there is none. */
  async #joinFree(sameCall: string, opening: Opening): Promise<Found & Pick<Opened, "release">> {
    const tried = new Set<string>();
    for (;;) {
      const { key, task, release } = await this.#claims.claim(sameCall, opening.call, tried);
      try {
        const found =
          task === undefined
            ? await this.#unlessDelivered(await this.#create(key, opening), key)
            : await this.#find(task, key, opening.call);
        if (found !== undefined) return { ...found, release };
      } catch (error) {
        release();
        throw error;
      }
      release();
      if (task !== undefined) tried.add(task);
    }
  }

  /** Undefined if the task is damaged, deleted, or has given up the key. */
  async #find(id: string, key: string, { owner }: PlainCall): Promise<Found | undefined> {
    const { principal, scopes } = owner;
    try {
      const { task } = await this.#runtime.get(id, { generation, principal, scopes });
      const found = { task, isNew: false };
      return task.idempotencyKey === key ? await this.#unlessDelivered(found, key) : undefined;
    } catch (error) {
      if (isUnknownTask(error) || isUnreadable(error)) return undefined;
      throw error;
    }
  }

  /**
   * The task, which is not to be cancelled any more; undefined if its result has reached a caller, or if it was cancelled. An
   * answer that is on its way is waited for.
   */
  async #unlessDelivered(found: Found, key: string): Promise<Found | undefined> {
    if (found.isNew) return found;
    const { id, cancelBy } = found.task;
    const wasLeft = cancelBy !== null;
    try {
      const task = wasLeft ? await this.#runtime.scheduleCancel(id, found.task, null) : found.task;
      if (task.finishedAt === null) return { task, isNew: false, wasLeft };
      if (task.state === "cancelled") await this.#deliveries.release(task); // there is no result
      await this.#deliveries.settled(id);
      const now = await this.#runtime.get(id, task);
      return now.task.idempotencyKey === key ? found : undefined;
    } catch (error) {
      if (isUnknownTask(error)) return undefined;
      throw error;
    }
  }

  /** Creates the task of the call, or finds the one that has the key. */
  async #create(key: string | undefined, opening: Opening): Promise<Found> {
    const taskCall = taskCallOf(key, opening);
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

function taskCallOf(key: string | undefined, { tool, policy, call, preparation }: Opening): TaskCall {
  const { owner, request, capabilities } = call;
  const { principal, scopes, session } = owner;
  const hasOwnKey = key !== undefined && !isCallKey(key);
  return {
    generation,
    principal,
    scopes,
    requiredScopes: request.access?.neededFor(tool.name) ?? [],
    tool: tool.name,
    arguments: request.params["arguments"],
    credentials: request.auth?.credentials,
    origin: originOf(request, askable(capabilities, policy), session),
    ...(preparation ?? (tool.prepare === undefined ? {} : { prepareInTask: true as const })),
    ...(key === undefined ? {} : { idempotencyKey: key }),
    ...(policy === "wait" && !hasOwnKey ? { keptMs: retryMs } : {}),
  };
}

/** Whether a call may join a task that another call waits for: running once is as good as running twice. */
function joinsWhileAwaited({ joinCalls, annotations }: Tool): boolean {
  return joinCalls ?? (annotations?.idempotentHint === true || annotations?.readOnlyHint === true);
}

function isTaken(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "wire_id_taken";
}
