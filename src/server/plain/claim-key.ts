import type { Runtime } from "../../runtime/runtime.ts";
import type { LiveCalls } from "./live-calls.ts";
import { anotherKey } from "./owner.ts";
import type { PlainCall } from "./plain-call.ts";

export interface ClaimedKey {
  readonly key: string;
  /** The task that has the key; undefined where none has it. */
  readonly task: string | undefined;
  readonly release: () => void;
}

/**
 * The key for a call that joins the same call only where nobody waits for that: the key of a task whose caller gave up,
 * before a restart perhaps, or else one that no task has. It is the call's own until it is released. `gone` are tasks that
 * were looked at and cannot be joined.
 */
export async function claimKey(
  runtime: Runtime,
  live: LiveCalls,
  callKey: string,
  call: PlainCall,
  gone: ReadonlySet<string>,
): Promise<ClaimedKey> {
  for (;;) {
    // Of more tasks than are waited for, one is not.
    const limit = live.tasksOf(callKey) + gone.size + 1;
    const keyed = await runtime.withKeys(call.owner.principal, callKey, limit);
    const left = keyed.find(({ id, key }) => !gone.has(id) && !live.isWaitedFor(key));
    if (left === undefined && keyed.length === limit) continue; // others came meanwhile
    const isFree = !live.isWaitedFor(callKey) && keyed.every(({ key }) => key !== callKey);
    const key = left?.key ?? (isFree ? callKey : anotherKey(callKey, runtime.clock.uniqueName()));
    return { key, task: left?.id, release: live.enter(key, call) };
  }
}
