import type { CallKeeper } from "../handles/call-keeper.ts";
import type { KeptCall } from "../handles/handle-store.ts";
import type { PendingCall } from "../handles/pending-call.ts";
import type { TaskHandle, WaitOptions } from "../task/task-handle.ts";
import { assertWait } from "../task/wait-limit.ts";
import { TaskClientError } from "../task-client-error.ts";

interface TakeServices {
  readonly keeper: CallKeeper;
  readonly now: () => number;
  readonly recognisesRepeats: boolean;
  readonly looksFirst: boolean;
  /** The handle of a task that is known to have existed. */
  readonly resume: (taskId: string) => TaskHandle;
  /** Sends a call again that may have arrived. */
  readonly sendAgain: (call: KeptCall, options: WaitOptions) => Promise<TaskHandle>;
}

/** A server recognises a call for as long as it keeps its task: a Holdfast server for a day, unless it is told otherwise. */
const recognisedMs = 24 * 3_600_000;

/** What the caller sees of a call that is in the handle store. */
export function pendingCall(call: KeptCall, services: TakeServices): PendingCall {
  const { tool, args, startedAt, taskId } = call;
  const { keeper } = services;
  return {
    reference: taskId === null ? null : keeper.referenceTo(taskId),
    idempotencyKey: call.key,
    tool,
    args,
    startedAt,
    take: async (options = {}) => {
      assertWait(options);
      options.signal?.throwIfAborted();
      if (taskId !== null) return services.resume(taskId);
      const obstacle = whyNotAgain(call, services);
      if (obstacle !== undefined) throw new TaskClientError("connection", obstacle);
      return services.sendAgain(call, options);
    },
    forget: async () => keeper.forget(call),
  };
}

function whyNotAgain({ startedAt }: KeptCall, services: TakeServices): string | undefined {
  if (services.looksFirst) return undefined;
  const lost = "The call's answer never came";
  if (!services.recognisesRepeats) {
    return `${lost}, and the server does not recognise a repeated call: it could make a second task`;
  }
  if (services.now() - startedAt > recognisedMs) {
    return `${lost} for more than a day: the server may have forgotten the call, and would run it again`;
  }
  return undefined;
}
