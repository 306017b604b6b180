import type { Runtime } from "../../runtime/runtime.ts";
import type { PlainPolicy, Tool } from "../../runtime/tool/tool.ts";
import { HoldfastError, isUnknownTask } from "../../task/fault.ts";
import { errorResult, resultOutcome } from "../../task/outcome.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import type { Answer, OnError } from "../answer.ts";
import { isStopping } from "../stopping.ts";
import { canBeAsked, cannotAsk, lacking } from "./capabilities.ts";
import { Deliveries } from "./deliveries.ts";
import { Holds, type Hold } from "./holds.ts";
import { KeepAlive } from "./keep-alive.ts";
import { LiveCalls } from "./live-calls.ts";
import { openCall, type Prepared } from "./open-call.ts";
import { isCallKey } from "./owner.ts";
import type { PlainCall } from "./plain-call.ts";
import type { PlainPolicies } from "./policy.ts";
import { ticket } from "./ticket.ts";
import { watchTask } from "./watch-task.ts";

/** How a call waits for its task. */
interface Terms {
  readonly policy: PlainPolicy;
  /** Somebody who does not wait may come back for the task, so no caller that leaves ends it. */
  readonly kept: boolean | "unless_known";
}

/** Two questions that a handler asks side by side are stored one after the other: the second one may be this late, in ms. */
const sideBySideMs = 20;

/**
 * Answers calls of clients without tasks: each is a durable task all the same, which the call waits for, however often it
 * is made. What its client can be asked, and how, the `PlainCall` knows.
 */
export class PlainCalls {
  readonly policies: PlainPolicies;
  readonly #runtime: Runtime;
  readonly #onError: OnError;
  readonly #deliveries: Deliveries;
  readonly #holds = new Holds();
  readonly #live = new LiveCalls();
  /** Tasks that nobody wants any more, until they have ended. */
  readonly #abandoned = new Map<string, Promise<void>>();

  constructor(runtime: Runtime, policies: PlainPolicies, onError: OnError) {
    this.policies = policies;
    this.#runtime = runtime;
    this.#onError = onError;
    this.#deliveries = new Deliveries(runtime, onError);
  }

  /**
   * Answers a call of a tool whose calls are kept; `preparation` is what its `prepare` made of it, where that ran before.
   * Rejects with a `HoldfastError`, and with the reason of the call's signal.
   */
  async call(tool: Tool, call: PlainCall, preparation?: Prepared): Promise<Answer> {
    const policy = this.policies.of(tool) ?? "wait";
    const missing = lacking(tool, call.capabilities, policy);
    if (missing.length > 0) return call.answerOf(errorResult(cannotAsk(tool, missing)));
    call.request.signal.throwIfAborted(); // nothing was promised yet, so nothing is begun
    const opening = { runtime: this.#runtime, deliveries: this.#deliveries, live: this.#live, tool, policy };
    for (;;) {
      const opened = await openCall(opening, call, preparation);
      const { task } = opened.snapshot;
      const ending = this.#abandoned.get(task.id);
      const kept = opened.keyed || (!opened.fresh && policy === "ticket" && "unless_known");
      // From here to where the call waits nothing comes between.
      const answer = ending === undefined ? this.#follow(task, call, { policy, kept }) : undefined;
      opened.release(); // who follows a task is known to wait for it
      if (answer !== undefined) return answer;
      await ending; // it was called off a moment ago: this is a new call
    }
  }

  /** Goes on with a call that was answered with questions. */
  async goOn(task: TaskRecord, tool: Tool, call: PlainCall): Promise<Answer> {
    const policy = this.policies.of(tool) ?? "wait";
    return this.#follow(task, call, { policy, kept: policy === "ticket" });
  }

  /** Waits for a task whose ticket was handed out, and answers as its own call would have, or with a ticket again. */
  async result(task: TaskRecord, call: PlainCall): Promise<Answer> {
    return this.#follow(task, call, { policy: "ticket", kept: true });
  }

  /** The result of a task on its way to its caller. */
  deliver({ task, outcome }: TaskSnapshot, call: PlainCall): Answer {
    call.request.signal.throwIfAborted(); // else nobody would tell what became of the answer
    call.afterAnswer(this.#deliveries.begin(task));
    return call.answerOf(outcome ?? errorResult(`The call of ${task.tool} was cancelled.`));
  }

  /** What a task is answered with that goes on. */
  ticketOf({ task, inputs }: TaskSnapshot, call: Pick<PlainCall, "capabilities" | "answerOf">): Answer {
    const question = inputs.find((input) => !canBeAsked(input, call.capabilities));
    const deadlineMs = this.#deadlineOf(task);
    const { names } = this.policies;
    return call.answerOf(resultOutcome(ticket({ task, question, names, deadlineMs })));
  }

  /** Ends the task as cancelled; false where it has ended before. The same call is a new one from now on. */
  async cancel(task: TaskRecord): Promise<boolean> {
    try {
      const snapshot = await this.#runtime.cancelNow(task.id, task);
      await this.#deliveries.release(snapshot.task);
      return true;
    } catch (error) {
      if (error instanceof HoldfastError && error.code === "finished") return false;
      throw error;
    }
  }

  async #follow(task: TaskRecord, call: PlainCall, terms: Terms): Promise<Answer> {
    const { clock } = this.#runtime;
    const { signal } = call.request;
    const hold = this.#holds.enter(task.id, terms.kept);
    const { idempotencyKey: key } = task;
    const stopWaiting = isCallKey(key) ? this.#live.enter(key, call) : undefined;
    const over = new AbortController();
    const deadline = new AbortController();
    const callOff =
      terms.policy === "ticket" ? clock.after(this.#deadlineOf(task), () => deadline.abort()) : undefined;
    const keepAlive = new KeepAlive(clock, (report) => call.progress(report));
    let last: TaskSnapshot | undefined;
    const look = (snapshot: TaskSnapshot): boolean => {
      last = snapshot;
      keepAlive.heard(snapshot.task);
      return snapshot.task.finishedAt !== null || waitsForCaller(snapshot, call);
    };
    try {
      call.attend?.(task.id, task, over.signal);
      const either = AbortSignal.any([signal, deadline.signal]);
      const snapshot = await this.#untilAnswerable(task, look, either, signal);
      return await this.#answer(snapshot, call, terms, hold);
    } catch (error) {
      if (!signal.aborted && deadline.signal.aborted && error === deadline.signal.reason) {
        hold.keep();
        return this.ticketOf(last ?? (await this.#runtime.get(task.id, task)), call);
      }
      if (signal.aborted && hold.leave() && call.calledOff()) await this.#abandon(task);
      throw error;
    } finally {
      hold.leave();
      stopWaiting?.();
      callOff?.();
      keepAlive.stop();
      over.abort();
    }
  }

  async #untilAnswerable(
    task: TaskRecord,
    look: (snapshot: TaskSnapshot) => boolean,
    signal: AbortSignal,
    callSignal: AbortSignal,
  ): Promise<TaskSnapshot> {
    const runtime = this.#runtime;
    const watching = { runtime, onError: this.#onError, id: task.id, requestor: task };
    for (;;) {
      const snapshot = await watchTask({ ...watching, signal }, look);
      if (snapshot.task.finishedAt !== null) return snapshot;
      const pause = Promise.withResolvers<void>();
      runtime.clock.after(sideBySideMs, pause.resolve);
      await pause.promise;
      const all = await watchTask({ ...watching, signal: callSignal }, () => true);
      if (look(all)) return all;
    }
  }

  async #answer(snapshot: TaskSnapshot, call: PlainCall, { policy }: Terms, hold: Hold): Promise<Answer> {
    if (snapshot.task.finishedAt !== null) return this.deliver(snapshot, call);
    if (call.askByAnswer !== undefined && someCanBeAsked(snapshot, call)) {
      if (policy === "ticket") hold.keep();
      return call.askByAnswer(snapshot);
    }
    if (policy === "wait") return call.answerOf(errorResult(asksSomebodyElse));
    hold.keep();
    return this.ticketOf(snapshot, call);
  }

  /** Nobody wants the task any more. */
  async #abandon(task: TaskRecord): Promise<void> {
    const ended = this.cancel(task)
      .catch((error: unknown) => {
        if (!isUnknownTask(error) && !isStopping(error)) this.#onError(error);
      })
      .then(() => void this.#abandoned.delete(task.id));
    this.#abandoned.set(task.id, ended);
    await ended;
  }

  #deadlineOf(task: TaskRecord): number {
    return this.policies.deadlineOf(this.#runtime.registry.get(task.tool));
  }
}

/** Whether nothing goes on before the caller was answered: it has to come back with answers. */
function waitsForCaller(snapshot: TaskSnapshot, call: PlainCall): boolean {
  if (snapshot.inputs.length === 0) return false;
  return !someCanBeAsked(snapshot, call) || call.askByAnswer !== undefined;
}

function someCanBeAsked({ inputs }: TaskSnapshot, { capabilities }: PlainCall): boolean {
  return inputs.some((input) => canBeAsked(input, capabilities));
}

/** A call that joined another one, whose client could be asked: this one would wait for an answer that may never come. */
const asksSomebodyElse =
  "The same call was made before and waits for its user's answer, which this client cannot give.";
