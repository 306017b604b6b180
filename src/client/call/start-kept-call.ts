import type { CallKeeper } from "../handles/call-keeper.ts";
import type { KeptCall } from "../handles/handle-store.ts";
import { aboutTask } from "../task/about-task.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { AnsweredRound } from "../task-protocol.ts";
import { startCall, type StartedCall, type StartServices } from "./start-call.ts";

interface StartKeptServices extends StartServices {
  readonly keeper: CallKeeper;
}

interface KeptCallOptions {
  readonly signal: AbortSignal;
  readonly progressToken: string | undefined;
  /** Whether its task is to be left alone, for the caller or the next process to find, if the answer comes too late. */
  readonly findsAgain: boolean;
  /** Whether the call comes from the store, where it is because it may have been sent before. */
  readonly again: boolean;
}

/**
 * Starts a call that is in the handle store from before it is sent until it is known to have no task, and with its task
 * from before anybody is told of that. What ends without an answer stays there: there may be a task.
 */
export async function startKeptCall(
  kept: KeptCall,
  services: StartKeptServices,
  { signal, progressToken, findsAgain, again }: KeptCallOptions,
): Promise<Exclude<StartedCall, { kind: "refused" }>> {
  const { keeper } = services;
  signal.throwIfAborted();
  // One that was sent before under the same key may have a task, whatever becomes of it now.
  const isNew = !again && (await keeper.begin(kept));
  if (signal.aborted && isNew) keeper.drop(kept); // nothing was sent
  signal.throwIfAborted();
  const call = {
    name: kept.tool,
    args: kept.args,
    idempotencyKey: kept.key,
    ttlMs: kept.ttlMs,
    progressToken,
    findsAgain,
    onLateTask: (taskId: string) => keeper.lateTask(kept, taskId),
  };
  const earlier = {
    mayHaveArrived: again,
    round: kept.round,
    keepRound: async (round: AnsweredRound) => keeper.answered(kept, round),
  };
  const started = await startCall(call, services, signal, earlier).catch(async (error: unknown) => {
    // An answer that breaks the protocol may name its task all the same.
    if (!(error instanceof TaskClientError) || error.taskId === undefined) throw error;
    await keeper.became(kept, error.taskId);
    throw aboutTask(error, keeper.referenceTo(error.taskId));
  });
  if (started.kind === "task") await keeper.became(kept, started.taskId, started.task);
  else if (started.kind === "result" || isNew || again) keeper.drop(kept);
  if (started.kind === "refused") throw started.error;
  return started;
}
