import type { JsonObject } from "../../generation/message.ts";
import { waitFor } from "../../runtime/wait-for.ts";
import { ofTask, type Reply, type SentRequest, Undelivered } from "./connection.ts";
import { orWithdrawn, type Question } from "./question.ts";

/** The poll interval if the client names none, and its bounds, in ms. */
const interval = { usual: 1_000, shortest: 100, longest: 60_000 };

/** After this time, an unanswered poll is sent again, in ms. */
const patienceMs = 10_000;

/**
 * Waits for a task that runs on the client, and resolves with its result: polls in the interval that the client
 * names, and at once when it notifies of a change (C-050, C-067). `cancel` runs when the signal aborts.
 */
export async function followClientTask(
  question: Question,
  taskId: string,
  created: JsonObject,
  cancel: () => void,
): Promise<Reply> {
  const { connection, via, signal, requiredScopes } = question;
  const pause = (ms: number): Promise<void> =>
    changeOrPause(question, taskId, ms).catch((reason: unknown) => {
      cancel();
      throw reason;
    });
  let task = created;
  for (;;) {
    if (task["status"] === "working") await pause(pauseOf(task["pollInterval"]));
    const method = task["status"] === "working" ? "tasks/get" : "tasks/result";
    // If the task waits for input, its questions come on the stream of `tasks/result` (C-093).
    const terms = method === "tasks/result" ? question : { requiredScopes };
    const asked = connection.ask(method, { taskId }, via(), terms);
    if (task["status"] === "input_required") return ofTask(await orWithdrawn(asked, signal, cancel));
    const reply = await inTime(question, asked, cancel);
    if (reply === undefined) await pause(interval.usual);
    else if (method === "tasks/result" || "error" in reply) {
      // If the user cancelled the task on the client, the question is not asked again.
      return task["status"] === "cancelled" ? reply : ofTask(reply);
    } else task = reply.result;
  }
}

/**
 * The reply, or undefined if none came in time: the stream of the request may have broken, and the next poll uses another
 * one. Rejects once the connection is closed, and with the signal's reason.
 */
export async function inTime(
  { connection, clock, signal }: Question,
  asked: SentRequest,
  cancel: () => void,
): Promise<Reply | undefined> {
  const late = new AbortController();
  const cancelTimer = clock.after(patienceMs, () => late.abort());
  try {
    return await orWithdrawn(asked, AbortSignal.any([signal, late.signal]), () => {
      if (signal.aborted) cancel();
    });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const lost = error instanceof Undelivered && !connection.closing.aborted;
    if (lost || late.signal.aborted) return undefined;
    throw error;
  } finally {
    cancelTimer();
  }
}

/** The pause before the next poll, for the interval that the client named. */
export function pauseOf(named: unknown): number {
  const ms = typeof named === "number" ? named : interval.usual;
  return Math.min(Math.max(ms, interval.shortest), interval.longest);
}

function changeOrPause({ connection, clock, signal }: Question, taskId: string, ms: number): Promise<void> {
  return waitFor((done) => {
    const cancelTimer = clock.after(ms, done);
    const unlisten = connection.onTaskNotification((_method, params) => {
      if (params["taskId"] === taskId) done();
    });
    return () => {
      cancelTimer();
      unlisten();
    };
  }, signal);
}
