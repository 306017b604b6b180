import type { CallKeeper } from "../handles/call-keeper.ts";
import type { KeptCall } from "../handles/handle-store.ts";
import type { PendingCall } from "../handles/pending-call.ts";
import type { TaskHandle, WaitOptions } from "../task/task-handle.ts";
import { assertWait } from "../task/wait-limit.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { TaskProtocol } from "../task-protocol.ts";
import { forgotten } from "./forgotten.ts";

interface TakeServices {
  readonly keeper: CallKeeper;
  readonly now: () => number;
  readonly protocol: Pick<TaskProtocol, "recognisesRepeats" | "recognisedMs" | "looksFirst">;
  /** The handle of a task that is known to have existed. */
  readonly resume: (taskId: string) => TaskHandle;
  /** Sends a call again that may have arrived. */
  readonly sendAgain: (call: KeptCall, options: WaitOptions) => Promise<TaskHandle>;
}

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

function whyNotAgain({ startedAt, ttlMs }: KeptCall, services: TakeServices): string | undefined {
  const { protocol, now } = services;
  if (protocol.looksFirst === true) return undefined;
  if (!protocol.recognisesRepeats) {
    return "The call's answer never came, and the server does not recognise a repeated call: it could make a second task";
  }
  return forgotten(now() - startedAt, protocol.recognisedMs(ttlMs));
}
