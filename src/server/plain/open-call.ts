import { readIdempotencyKey } from "../../generation/idempotency-key.ts";
import { isJsonObject } from "../../generation/json-object.ts";
import type { Requestor, Runtime, TaskCall } from "../../runtime/runtime.ts";
import type { PlainPolicy, Tool } from "../../runtime/tool/tool.ts";
import { HoldfastError, isUnknownTask } from "../../task/fault.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import { originOf } from "../tool-request.ts";
import { askable } from "./capabilities.ts";
import type { Deliveries } from "./deliveries.ts";
import { claimKey } from "./claim-key.ts";
import type { LiveCalls } from "./live-calls.ts";
import { callKey, scopeOf } from "./owner.ts";
import type { PlainCall } from "./plain-call.ts";
import { newReference } from "./reference.ts";

/** The wire form of tasks of callers who have none. */
export const generation = "plain";

/** What `prepare` of the tool made of the call, where it ran in rounds before there is a task. */
export interface Prepared {
  readonly prepared: string | null;
}

/** The task of a call, made or found. */
export interface Opened {
  readonly snapshot: TaskSnapshot;
  /** Nobody but this call knows of the task. */
  readonly fresh: boolean;
  /** It is found again by a key that its caller gave, so it stays though its caller leaves. */
  readonly keyed: boolean;
  /** The call waits no longer: the same call may join its task from now on. */
  readonly release: () => void;
}

type Found = Pick<Opened, "snapshot" | "fresh">;

/** How long a result that was waited for is kept, in ms: who lost its answer makes the same call again within that. */
const undeliveredMs = 600_000;

/** One of an owner's 39 bits is taken this often in a row: never. */
const mostTries = 20;

/** What a call is opened with. */
export interface Opening {
  readonly runtime: Runtime;
  readonly deliveries: Deliveries;
  readonly live: LiveCalls;
  readonly tool: Tool;
  readonly policy: PlainPolicy;
}

/**
 * The task of the call: a new one, or one of the same caller for the same tool and arguments that nobody waits for and that
 * has not ended, or whose result nobody was given. The caller's own idempotency key comes before that. Rejects as
 * `create` does.
 */
export async function openCall(
  opening: Opening,
  call: PlainCall,
  preparation: Prepared | undefined,
): Promise<Opened> {
  const { runtime, live, tool } = opening;
  const { request, owner } = call;
  const meta = isJsonObject(request.params["_meta"]) ? request.params["_meta"] : {};
  const own = readIdempotencyKey(meta, owner.principal);
  // What was prepared is made of the caller's answers: another call may have other ones.
  const joins = own === undefined && tool.joinCalls !== false && preparation === undefined;
  const key = joins ? callKey(owner, tool.name, request.params["arguments"]) : undefined;
  const keyed = own !== undefined;
  const gone = new Set<string>();
  for (;;) {
    const claimed =
      key === undefined || joinsWhileWaitedFor(tool)
        ? { key: own ?? key, task: undefined, release: () => undefined }
        : await claimKey(runtime, live, key, call, gone);
    try {
      const opened =
        claimed.task === undefined
          ? await create({ key: claimed.key, keyed }, opening, call, preparation)
          : await join({ key: claimed.key, task: claimed.task }, opening, call);
      if (opened !== undefined) return { ...opened, keyed, release: claimed.release };
    } catch (error) {
      claimed.release();
      throw error;
    }
    claimed.release();
    if (claimed.task !== undefined) gone.add(claimed.task);
  }
}

/** Whether a call may be answered with what another one does, though that has its caller: running once is as good as twice. */
function joinsWhileWaitedFor({ joinCalls, annotations }: Tool): boolean {
  return joinCalls ?? (annotations?.idempotentHint === true || annotations?.readOnlyHint === true);
}

/** The task that has a key; undefined where it cannot be joined any more. */
async function join(
  { key, task: id }: { readonly key: string; readonly task: string },
  opening: Opening,
  { owner }: PlainCall,
): Promise<Found | undefined> {
  const { principal, scopes } = owner;
  const snapshot = await taskIfThere(opening.runtime, id, { generation, principal, scopes });
  return snapshot?.task.idempotencyKey === key ? unlessDelivered(snapshot, key, opening) : undefined;
}

/** The new task of a call, or the one that has its key; undefined where that cannot be joined any more. */
async function create(
  { key, keyed }: { readonly key: string | undefined; readonly keyed: boolean },
  opening: Opening,
  call: PlainCall,
  preparation: Prepared | undefined,
): Promise<Found | undefined> {
  const { runtime, tool, policy } = opening;
  const { request, owner } = call;
  const meta = isJsonObject(request.params["_meta"]) ? request.params["_meta"] : {};
  const scope = scopeOf(owner);
  const origin = originOf(request.id, meta, askable(call.capabilities, policy));
  const { session } = owner;
  const taskCall: TaskCall = {
    generation,
    principal: owner.principal,
    scopes: owner.scopes,
    requiredScopes: request.access?.neededFor(tool.name) ?? [],
    tool: tool.name,
    arguments: request.params["arguments"],
    origin: session === undefined ? origin : { ...origin, session },
    ...(preparation ?? (tool.prepare === undefined ? {} : { prepareInTask: true as const })),
    ...(key === undefined ? {} : { idempotencyKey: key }),
    // Without a ticket or a key nobody comes for it later than the next same call.
    ...(policy === "wait" && !keyed ? { keptMs: undeliveredMs } : {}),
  };
  for (let tries = 1; ; tries++) {
    const reference = newReference((size) => runtime.clock.randomBytes(size));
    let snapshot: TaskSnapshot;
    try {
      snapshot = await runtime.create(
        scope === undefined ? taskCall : { ...taskCall, scope, wireId: reference },
      );
    } catch (error) {
      if (!isTaken(error) || tries === mostTries) throw error;
      continue;
    }
    const { task } = snapshot;
    const fresh = scope === undefined ? key === undefined : task.wireId === reference;
    return fresh || keyed ? { snapshot, fresh } : unlessDelivered(snapshot, key, opening);
  }
}

/** The task to join, unless its result is on its way to somebody and arrives: then the call is a new one. */
async function unlessDelivered(
  snapshot: TaskSnapshot,
  key: string | undefined,
  { runtime, deliveries }: Opening,
): Promise<Found | undefined> {
  const { task } = snapshot;
  const found = { snapshot, fresh: false };
  if (task.finishedAt === null) return found;
  if (task.state === "cancelled") await deliveries.release(task); // it has no result
  await deliveries.over(task.id);
  const now = await taskIfThere(runtime, task.id, task);
  return now?.task.idempotencyKey === key ? found : undefined;
}

async function taskIfThere(
  runtime: Runtime,
  id: string,
  requestor: Requestor,
): Promise<TaskSnapshot | undefined> {
  try {
    return await runtime.get(id, requestor);
  } catch (error) {
    if (isUnknownTask(error)) return undefined;
    throw error;
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "wire_id_taken";
}
