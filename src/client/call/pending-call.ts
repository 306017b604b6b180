import type { CallToolResult } from "@modelcontextprotocol/client";
import { base64url } from "../../generation/base64.ts";
import { type TaskHandle, type WaitOptions, assertWait } from "../task/task-handle.ts";
import type { CompletedTask, TaskReference } from "../task/remote-task.ts";
import type { CallJournal } from "../handles/call-journal.ts";
import type { StoredCall } from "../handles/handle-store.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { TaskProtocol } from "../task-protocol.ts";

/** A key that cannot be guessed: 144 random bits. */
export function makeIdempotencyKey(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(18)));
}

/**
 * Why a call that may have arrived is too old to be sent again; undefined if it is not. A server recognises a
 * repeated call only while it keeps the task, and would run it again after that.
 */
export function tooOldToRepeat(ageMs: number, recognisedMs: number): string | undefined {
  if (ageMs <= recognisedMs) return undefined;
  return (
    `The call was never answered, and it was sent ${ageMs} ms ago: ` +
    `the server recognises repeated calls for only ${recognisedMs} ms, and could run it twice`
  );
}

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

/** The handle for a call that was answered at once, at epoch milliseconds `at`. */
export function directHandle(result: CallToolResult, at: number): TaskHandle {
  const answeredAt = new Date(at).toISOString();
  const task: CompletedTask = {
    taskId: "",
    status: "completed",
    createdAt: answeredAt,
    lastUpdatedAt: answeredAt,
    ttlMs: null,
    result,
  };
  return {
    reference: null,
    taskId: null,
    get: async () => task,
    async *updates() {
      yield task;
    },
    // Without a task there is no log, no output and no artifact.
    async *logs() {},
    async *output() {},
    artifacts: async () => [],
    result: async () => result,
    // Cancelling an ended task does nothing.
    cancel: async () => undefined,
    // The server keeps nothing that could be deleted.
    delete: async () => undefined,
  };
}
