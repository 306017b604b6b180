import type { Runtime } from "../../runtime/runtime.ts";
import type { PlainPolicy, Tool } from "../../runtime/tool/tool.ts";
import { errorResult, resultOutcome } from "../../task/outcome.ts";
import type { TaskRecord, TaskSnapshot } from "../../task/record.ts";
import type { Answer } from "../answer.ts";
import type { OnError } from "../faults.ts";
import { sentProgress } from "../log/shown-progress.ts";
import { CallLog } from "./call-log.ts";
import { CallTasks, type Prepared } from "./call-tasks.ts";
import { canBeAsked, cannotAsk, lacking } from "./capabilities.ts";
import { Deliveries, type Waiting } from "./delivery.ts";
import { Joins } from "./joins.ts";
import type { Departure } from "./departure.ts";
import { KeepAlive } from "./keep-alive.ts";
import type { PlainCall } from "./plain-call.ts";
import type { PlainPolicies } from "./plain-policies.ts";
import { ticket } from "./ticket.ts";
import { waitForTask } from "./wait-for-task.ts";
import { workSoFar } from "./work-so-far.ts";

/**
 * Answers calls of clients without tasks. Each call has a durable task and waits for it, and the same call joins the same
 * task. The `PlainCall` knows what its client can be asked, and how.
 */
export class PlainCalls {
  readonly policies: PlainPolicies;
  readonly #runtime: Runtime;
  readonly #onError: OnError;
  readonly #deliveries: Deliveries;
  readonly #joins: Joins;
  readonly #tasks: CallTasks;

  constructor(runtime: Runtime, policies: PlainPolicies, onError: OnError) {
    this.policies = policies;
    this.#runtime = runtime;
    this.#onError = onError;
    this.#deliveries = new Deliveries(runtime, policies.graceMs, onError);
    this.#joins = new Joins(runtime, this.#deliveries, onError);
    this.#tasks = new CallTasks(runtime, this.#deliveries, this.#joins);
  }

  /**
   * Answers a call of a tool whose calls have tasks. `preparation` is what the tool's `prepare` returned, if it ran before.
   * Rejects with a `HoldfastError`, and with the reason of the call's signal.
   */
  async call(tool: Tool, call: PlainCall, preparation?: Prepared): Promise<Answer> {
    const policy = this.#policyOf(tool);
    const missing = lacking(tool, call.capabilities, policy);
    if (missing.length > 0) return call.answerOf(errorResult(cannotAsk(tool, missing)));
    call.request.signal.throwIfAborted(); // before there is a task that nobody would wait for
    for (;;) {
      const { task, isNew, release } = await this.#tasks.open({ tool, policy, call, preparation });
      if (!isNew) call.joined?.(task.id);
      if (!this.#deliveries.isAbandoned(task.id)) {
        const waiting = this.#deliveries.wait(task, call);
        release();
        return this.#follow(task, call, policy, waiting);
      }
      release();
      await this.#deliveries.settled(task.id);
    }
  }

  /** Continues a call whose last answer was questions. */
  async continueCall(task: TaskRecord, tool: Tool, call: PlainCall): Promise<Answer> {
    return this.#follow(task, call, this.#policyOf(tool), await this.#enter(task, call));
  }

  /** Continues a call that another process was answering. Without its tool, which may be gone, it waits for the result. */
  async resume(task: TaskRecord, tool: Tool | undefined, call: PlainCall): Promise<Answer> {
    const policy = tool === undefined ? "wait" : this.#policyOf(tool);
    return this.#follow(task, call, policy, await this.#enter(task, call), sentProgress(task));
  }

  /** The caller of such a call leaves. */
  leave(task: TaskRecord, departure: Departure): Promise<void> {
    return this.#deliveries.leave(task, departure);
  }

  /** Waits for a task that the caller has a ticket for, and answers as its own call would have, or with a ticket again. */
  async result(task: TaskRecord, call: PlainCall): Promise<Answer> {
    const waiting = await this.#enter(task, call);
    if (!task.promised) await waiting.promise({ leaves: false }); // a list has named it
    return this.#follow(task, call, "ticket", waiting);
  }

  /** What the call of a running task is answered with. */
  async ticketOf(
    { task, inputs }: TaskSnapshot,
    call: Pick<PlainCall, "capabilities" | "answerOf">,
  ): Promise<Answer> {
    const question = inputs.find((input) => !canBeAsked(input, call.capabilities));
    const deadlineMs = this.#deadlineOf(task);
    const work = question === undefined ? await workSoFar(this.#runtime, task) : undefined;
    const { names } = this.policies;
    return call.answerOf(resultOutcome(ticket({ task, question, work, names, deadlineMs })));
  }

  /** Cancels the task, so that the same call begins anew; false if the task has ended before. */
  async cancel(task: TaskRecord): Promise<boolean> {
    return this.#deliveries.cancel(task);
  }

  async #enter(task: TaskRecord, call: PlainCall): Promise<Waiting> {
    const release = this.#deliveries.arrive(task);
    await this.#joins.enter(task);
    const waiting = this.#deliveries.wait(task, call);
    release();
    return waiting;
  }

  /** `sent`: the progress that another process may already have sent for the call. */
  async #follow(
    task: TaskRecord,
    call: PlainCall,
    policy: PlainPolicy,
    waiting: Waiting,
    sent?: number,
  ): Promise<Answer> {
    const { clock } = this.#runtime;
    const { signal, trace } = call.request;
    trace?.about(task.id);
    const over = new AbortController();
    const deadline = new AbortController();
    const cancelDeadline =
      policy === "ticket" ? clock.after(this.#deadlineOf(task), () => deadline.abort()) : undefined;
    const log = new CallLog(this.#runtime, task, call);
    const keepAlive = new KeepAlive(clock, (report) => call.progress(report), sent);
    let last: TaskSnapshot | undefined;
    const isAnswerable = (snapshot: TaskSnapshot): boolean => {
      last = snapshot;
      keepAlive.changed(snapshot.task, log.newest);
      return snapshot.task.finishedAt !== null || needsItsCaller(snapshot, call);
    };
    try {
      call.attend?.(task.id, task, over.signal);
      const [runtime, onError] = [this.#runtime, this.#onError];
      const report = (snapshot: TaskSnapshot): Promise<void> => log.upTo(snapshot.task);
      const wait = { runtime, onError, task, report, isAnswerable, signal, deadline: deadline.signal };
      return await this.#answer(await waitForTask(wait), call, policy, waiting);
    } catch (error) {
      if (!signal.aborted && deadline.signal.aborted && error === deadline.signal.reason) {
        await waiting.promise({ leaves: true });
        return await this.ticketOf(last ?? (await this.#runtime.get(task.id, task)), call);
      }
      const departure = signal.aborted ? call.departure() : undefined;
      if (departure !== undefined) await waiting.depart(departure);
      throw error;
    } finally {
      waiting.leave();
      cancelDeadline?.();
      keepAlive.stop();
      over.abort();
    }
  }

  async #answer(
    snapshot: TaskSnapshot,
    call: PlainCall,
    policy: PlainPolicy,
    waiting: Waiting,
  ): Promise<Answer> {
    const { task, outcome } = snapshot;
    if (task.finishedAt !== null) {
      call.request.signal.throwIfAborted(); // else nothing would report whether the answer arrived
      call.afterAnswer(waiting.send());
      return call.answerOf(outcome ?? errorResult(`The call to ${task.tool} was cancelled.`));
    }
    if (policy === "ticket") await waiting.promise({ leaves: true });
    if (call.askByAnswer !== undefined && someCanBeAsked(snapshot, call)) return call.askByAnswer(snapshot);
    return policy === "ticket"
      ? this.ticketOf(snapshot, call)
      : call.answerOf(errorResult(asksAnotherClient));
  }

  #policyOf(tool: Tool): PlainPolicy {
    return this.policies.of(tool) ?? "wait";
  }

  #deadlineOf(task: TaskRecord): number {
    return this.policies.deadlineOf(this.#runtime.registry.handlerOf(task));
  }
}

/** Whether the task has a question that its caller learns of by the answer to its call. */
function needsItsCaller(snapshot: TaskSnapshot, call: PlainCall): boolean {
  if (snapshot.inputs.length === 0) return false;
  return !someCanBeAsked(snapshot, call) || call.askByAnswer !== undefined;
}

function someCanBeAsked({ inputs }: TaskSnapshot, { capabilities }: PlainCall): boolean {
  return inputs.some((input) => canBeAsked(input, capabilities));
}

/** For a call that joined that of another client, which must answer: the answer may never come. */
const asksAnotherClient =
  "An earlier identical call is waiting for its user to answer a question, which this client cannot do.";
