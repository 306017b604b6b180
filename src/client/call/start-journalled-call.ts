import type { CallJournal } from "../handles/call-journal.ts";
import type { KeptCall } from "../handles/handle-store.ts";
import { withReference, TaskClientError } from "../task-client-error.ts";
import type { AnsweredRound } from "../task-protocol.ts";
import { startCall, type StartedCall, type StartServices } from "./start-call.ts";

interface JournalledCallServices extends StartServices {
  readonly journal: CallJournal;
}

interface JournalledCallOptions {
  readonly signal: AbortSignal;
  readonly progressToken: string | undefined;
  /**
   * Whether to leave the task running if the answer comes too late, since the caller or the next process can find
   * it.
   */
  readonly findsAgain: boolean;
  /** Whether the call comes from the store, so that it may have been sent before. */
  readonly again: boolean;
}

/**
 * Starts a call, and stores it before it is sent. Stores the task's id before the caller learns it, and removes a
 * call that has no task. A call without an answer stays stored, since it may have a task.
 */
export async function startJournalledCall(
  kept: KeptCall,
  services: JournalledCallServices,
  { signal, progressToken, findsAgain, again }: JournalledCallOptions,
): Promise<Exclude<StartedCall, { kind: "refused" }>> {
  const { journal } = services;
  signal.throwIfAborted();
  // A call that was sent before under the same key may have a task, even if it fails now.
  const isNew = !again && (await journal.recordCall(kept));
  if (signal.aborted && isNew) journal.removeCall(kept); // nothing was sent
  signal.throwIfAborted();
  const call = {
    name: kept.tool,
    args: kept.args,
    idempotencyKey: kept.key,
    ttlMs: kept.ttlMs,
    progressToken,
    findsAgain,
    onLateTask: (taskId: string) => journal.recordLateTask(kept, taskId),
  };
  const earlier = {
    mayHaveArrived: again,
    round: kept.round,
    recordRound: async (round: AnsweredRound) => journal.recordRound(kept, round),
  };
  const started = await startCall(call, services, signal, earlier).catch(async (error: unknown) => {
    // An invalid answer can still name the task.
    if (!(error instanceof TaskClientError) || error.taskId === undefined) throw error;
    await journal.recordTask(kept, error.taskId);
    throw withReference(error, journal.referenceTo(error.taskId));
  });
  if (started.kind === "task") await journal.recordTask(kept, started.taskId, started.task);
  else if (started.kind === "result" || isNew || again) journal.removeCall(kept);
  if (started.kind === "refused") throw started.error;
  return started;
}
