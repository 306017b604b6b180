import { readIdempotencyKey } from "../../generation/idempotency-key.ts";
import { isJsonObject } from "../../generation/json-object.ts";
import type { Runtime, TaskCall } from "../../runtime/runtime.ts";
import type { PlainPolicy, Tool } from "../../runtime/tool/tool.ts";
import { HoldfastError, isUnknownTask } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import { originOf } from "../tool-request.ts";
import { askable } from "./capabilities.ts";
import type { Deliveries } from "./deliveries.ts";
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
}

/** How long a result that was waited for is kept, in ms: who lost its answer makes the same call again within that. */
const undeliveredMs = 600_000;

/** One of an owner's 39 bits is taken this often in a row: never. */
const mostTries = 20;

/**
 * The task of the call: a new one, or one of the same caller for the same tool and arguments that has not ended, or
 * whose result nobody was given. The caller's own idempotency key comes before that. Rejects as `create` does.
 */
export async function openCall(
  runtime: Runtime,
  deliveries: Deliveries,
  { tool, policy }: { readonly tool: Tool; readonly policy: PlainPolicy },
  call: PlainCall,
  preparation: Prepared | undefined,
): Promise<Opened> {
  const { request, owner } = call;
  const args = request.params["arguments"];
  const meta = isJsonObject(request.params["_meta"]) ? request.params["_meta"] : {};
  const own = readIdempotencyKey(meta, owner.principal);
  // What was prepared is made of the caller's answers: another call may have other ones.
  const joins = tool.joinCalls !== false && preparation === undefined;
  const key = own ?? (joins ? callKey(owner, tool.name, args) : undefined);
  const scope = scopeOf(owner);
  const origin = originOf(request.id, meta, askable(call.capabilities, policy));
  const { session } = owner;
  const taskCall: TaskCall = {
    generation,
    principal: owner.principal,
    scopes: owner.scopes,
    requiredScopes: request.access?.neededFor(tool.name) ?? [],
    tool: tool.name,
    arguments: args,
    origin: session === undefined ? origin : { ...origin, session },
    ...(preparation ?? (tool.prepare === undefined ? {} : { prepareInTask: true as const })),
    ...(key === undefined ? {} : { idempotencyKey: key }),
    // Without a ticket or a key nobody comes for it later than the next same call.
    ...(policy === "wait" && own === undefined ? { keptMs: undeliveredMs } : {}),
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
    const keyed = own !== undefined;
    if (fresh || keyed || task.finishedAt === null) return { snapshot, fresh, keyed };
    // Its result is on its way to somebody: if it arrives, this call is a new one. One that was cancelled has none.
    if (task.state === "cancelled") await deliveries.release(task);
    await deliveries.over(task.id);
    if ((await keyOf(runtime, task)) === key || tries === mostTries) return { snapshot, fresh, keyed };
  }
}

/** The key under which the task is found now; null where that is none any more. */
async function keyOf(runtime: Runtime, task: TaskRecord): Promise<string | null> {
  try {
    return (await runtime.get(task.id, task)).task.idempotencyKey;
  } catch (error) {
    if (isUnknownTask(error)) return null;
    throw error;
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "wire_id_taken";
}
