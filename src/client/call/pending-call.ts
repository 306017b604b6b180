import type { TaskHandle, WaitOptions } from "../task/task-handle.ts";
import type { TaskReference } from "../task/task-reference.ts";
import type { CallJournal } from "../handles/call-journal.ts";
import type { StoredCall } from "../handles/handle-store.ts";
import { assertWait } from "../task/wait-limit.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { TaskProtocol } from "../task-protocol.ts";
import { tooOldToRepeat } from "./idempotency.ts";

/** A call of this client, or of an earlier one, whose outcome was not delivered yet. */
export interface PendingCall {
  /** The call's task; `null` if the call was never answered, so that it is unknown whether it has one. */
  readonly reference: TaskReference | null;
  /** The call's idempotency key. */
  readonly idempotencyKey: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Epoch milliseconds, by the clock of the client that made the call. */
  readonly startedAt: number;
  /**
   * Resolves with the handle of the call's task. A call that was never answered is sent again under the same idempotency key, so that a
   * server that recognises repeats, as a Holdfast server does, finds the same task. Rejects with `connection` if that could run the call
   * twice: on any other server, and for a call too old for the server to recognise (by default a day).
   */
  take(options?: WaitOptions): Promise<TaskHandle>;
  /** Removes the call from the store. Its task, if it has one, continues. */
  forget(): Promise<void>;
}

interface TakeServices {
  readonly journal: CallJournal;
  readonly now: () => number;
  readonly protocol: Pick<TaskProtocol, "recognisesRepeats" | "recognisedMs" | "looksForTaskFirst">;
  /** The handle of a stored call's task. */
  readonly resume: (taskId: string, tool: string) => TaskHandle;
  /** Sends a call again that may have arrived before. */
  readonly sendAgain: (call: StoredCall, options: WaitOptions) => Promise<TaskHandle>;
}

/** A stored call, as `client.pending()` returns it. */
export function pendingCall(call: StoredCall, services: TakeServices): PendingCall {
  const { tool, args, startedAt, taskId } = call;
  const { journal } = services;
  return {
    reference: taskId === null ? null : journal.referenceTo(taskId),
    idempotencyKey: call.key,
    tool,
    args,
    startedAt,
    take: async (options = {}) => {
      assertWait(options);
      options.signal?.throwIfAborted();
      if (taskId !== null) return services.resume(taskId, tool);
      const obstacle = whyNotRepeatable(call, services);
      if (obstacle !== undefined) throw new TaskClientError("connection", obstacle);
      return services.sendAgain(call, options);
    },
    forget: async () => journal.forget(call),
  };
}

function whyNotRepeatable({ startedAt, ttlMs }: StoredCall, services: TakeServices): string | undefined {
  const { protocol, now } = services;
  if (protocol.looksForTaskFirst === true) return undefined;
  if (!protocol.recognisesRepeats) {
    return "The call was never answered, and the server does not recognise repeated calls: sending it again could create a second task";
  }
  return tooOldToRepeat(now() - startedAt, protocol.recognisedMs(ttlMs));
}
