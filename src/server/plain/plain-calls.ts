import type { Runtime } from "../../runtime/runtime.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import type { PlainPolicy } from "../../runtime/tool/tool-options.ts";
import { errorResult, resultOutcome } from "../../task/outcome.ts";
import { cancelledByCaller } from "../../task/status-text.ts";
import type { TaskRecord, TaskSnapshot } from "../../task/record.ts";
import { type Answer, progressTokenOf } from "../request.ts";
import type { OnError } from "../faults.ts";
import { waitForTask } from "../waiting-call.ts";
import { type LogLine, logLines, newestShown, sentProgress, shownProgress } from "../log-messages.ts";
import { CallTasks, type Prepared } from "./call-tasks.ts";
import {
  canBeAsked,
  cannotAsk,
  type Departure,
  isForModel,
  lacking,
  type PlainCall,
  type PlainPolicies,
} from "./plain-policies.ts";
import { Deliveries, type Waiting } from "./delivery.ts";
import { ticket, workSoFar } from "./ticket.ts";
import { isAtLeast, logMessage, type JsonObject } from "../../generation/message.ts";
import type { Clock } from "../../runtime/clock.ts";

/** How a call follows its task. */
interface Follower {
  readonly waiting: Waiting;
  /** The progress that another process may already have sent for the call. */
  readonly sent?: number | undefined;
  /** What brings the result to its caller, if not the call that made the task. */
  readonly via?: string;
}

/**
 * Answers calls of clients without tasks. Each call has a durable task and waits for it, and the same call joins the same
 * task. The `PlainCall` knows what its client can be asked, and how.
 */
export class PlainCalls {
  readonly policies: PlainPolicies;
  readonly #runtime: Runtime;
  readonly #onError: OnError;
  readonly #deliveries: Deliveries;
  readonly #tasks: CallTasks;

  constructor(runtime: Runtime, policies: PlainPolicies, onError: OnError) {
    this.policies = policies;
    this.#runtime = runtime;
    this.#onError = onError;
    this.#deliveries = new Deliveries(runtime, policies.graceMs, onError);
    this.#tasks = new CallTasks(runtime, this.#deliveries);
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
        // The answer to the call that made the task is its own, and no retrieval.
        return this.#follow(task, call, policy, { waiting, ...(isNew ? {} : { via: "tools/call" }) });
      }
      release();
      await this.#deliveries.settled(task.id);
    }
  }

  /** Continues a call whose last answer was questions. */
  async continueCall(task: TaskRecord, tool: Tool, call: PlainCall): Promise<Answer> {
    return this.#follow(task, call, this.#policyOf(tool), {
      waiting: await this.#deliveries.enter(task, call),
    });
  }

  /** Continues a call that another process was answering. Without its tool, which may be gone, it waits for the result. */
  async resume(task: TaskRecord, tool: Tool | undefined, call: PlainCall): Promise<Answer> {
    const policy = tool === undefined ? "wait" : this.#policyOf(tool);
    const waiting = await this.#deliveries.enter(task, call);
    return this.#follow(task, call, policy, { waiting, sent: sentProgress(task) });
  }

  /** The caller of such a call leaves. */
  leave(task: TaskRecord, departure: Departure): Promise<void> {
    return this.#deliveries.leave(task, departure);
  }

  /** Waits for a task that the caller has a ticket for, and answers as its own call would have, or with a ticket again. */
  async result(task: TaskRecord, call: PlainCall): Promise<Answer> {
    const waiting = await this.#deliveries.enter(task, call);
    if (!task.promised) await waiting.promise({ leaves: false }); // a list has named it
    return this.#follow(task, call, "ticket", { waiting, via: this.policies.names.result });
  }

  /** What the call of a task is answered with that runs, or has just ended. */
  async ticketOf(
    { task, inputs }: TaskSnapshot,
    call: Pick<PlainCall, "capabilities" | "answerOf" | "client" | "patience">,
  ): Promise<Answer> {
    const question = inputs.find((input) => isForModel(input, call.capabilities));
    const deadlineMs = this.#deadlineOf(task, call);
    const isRunning = question === undefined && task.finishedAt === null;
    const work = isRunning ? await workSoFar(this.#runtime, task) : undefined;
    const { names } = this.policies;
    return call.answerOf(resultOutcome(ticket({ task, question, work, names, deadlineMs })));
  }

  /** Cancels the task, so that the same call begins anew; false if the task has ended before. */
  async cancel(task: TaskRecord): Promise<boolean> {
    return this.#deliveries.cancel(task);
  }

  async #follow(task: TaskRecord, call: PlainCall, policy: PlainPolicy, follower: Follower): Promise<Answer> {
    const { waiting, sent } = follower;
    const { clock } = this.#runtime;
    const arrivedAt = clock.elapsed();
    const { signal, trace } = call.request;
    trace?.about(task.id);
    const deadline = new AbortController();
    const cancelDeadline =
      policy === "ticket" ? clock.after(this.#deadlineOf(task, call), () => deadline.abort()) : undefined;
    const log = new CallLog(this.#runtime, task, call);
    const progressToken = progressTokenOf(call.request.params);
    const sendProgress = (report: JsonObject): void => {
      if (progressToken !== undefined)
        call.stream.notify("notifications/progress", { progressToken, ...report });
    };
    const keepAlive = new KeepAlive(clock, sendProgress, sent);
    const attendance = call.attend?.(task);
    let last: TaskSnapshot | undefined;
    const isAnswerable = (snapshot: TaskSnapshot): boolean => {
      last = snapshot;
      keepAlive.changed(snapshot.task, log.newest);
      return snapshot.task.finishedAt !== null || needsItsCaller(snapshot, call);
    };
    try {
      const report = async (snapshot: TaskSnapshot): Promise<void> => {
        await log.upTo(snapshot.task);
        await attendance?.report(snapshot);
      };
      const { reserve } = call.request;
      const services = { runtime: this.#runtime, onError: this.#onError, reserve };
      const watch = attendance?.watch;
      const wait = { ...services, task, report, watch, isAnswerable, signal, deadline: deadline.signal };
      return await this.#answer(await waitForTask(wait), call, policy, follower);
    } catch (error) {
      if (!signal.aborted && deadline.signal.aborted && error === deadline.signal.reason) {
        await waiting.promise({ leaves: true });
        return await this.ticketOf(last ?? (await this.#runtime.get(task.id, task)), call);
      }
      const departure = signal.aborted ? call.departure() : undefined;
      if (departure === "timed_out") call.patience?.gaveUp(clock.elapsed() - arrivedAt);
      if (departure !== undefined) await waiting.depart(departure);
      throw error;
    } finally {
      waiting.leave();
      cancelDeadline?.();
      keepAlive.stop();
      attendance?.leave();
    }
  }

  async #answer(
    snapshot: TaskSnapshot,
    call: PlainCall,
    policy: PlainPolicy,
    { waiting, via }: Follower,
  ): Promise<Answer> {
    const { task, outcome } = snapshot;
    if (task.finishedAt !== null) {
      call.request.signal.throwIfAborted(); // else nothing would report whether the answer arrived
      const sending = waiting.send();
      call.stream.afterAnswer((end) => sending(end === "sent"));
      if (via !== undefined) this.#runtime.retrieved(task, via);
      const cancelled = `The call to ${task.tool} has no result. ${task.statusMessage ?? cancelledByCaller}`;
      return call.answerOf(outcome ?? errorResult(cancelled));
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

  #deadlineOf(task: TaskRecord, call: Pick<PlainCall, "client" | "patience">): number {
    return this.policies.deadlineOf(this.#runtime.registry.handlerOf(task), call);
  }
}

/** Whether the task has a question that its caller learns of by the answer to its call. */
function needsItsCaller(snapshot: TaskSnapshot, call: PlainCall): boolean {
  if (someCanBeAsked(snapshot, call)) return call.askByAnswer !== undefined;
  return snapshot.inputs.some((input) => isForModel(input, call.capabilities));
}

function someCanBeAsked({ inputs }: TaskSnapshot, { capabilities }: PlainCall): boolean {
  return inputs.some((input) => canBeAsked(input, capabilities));
}

/** For a call that joined that of another client, which must answer: the answer may never come. */
const asksAnotherClient =
  "An identical earlier call is waiting for the answer to a question that this client cannot answer.";

/**
 * Sends the lines of a task's log to a call that waits for it, from when it began to wait, and keeps the newest one to show with progress.
 */
export class CallLog {
  readonly #runtime: Runtime;
  readonly #call: PlainCall;
  /** The last line that was sent, or not wanted. */
  #sent: number;
  /** The last line that was looked at for progress. */
  #seen = 0;
  #newest: LogLine | undefined;

  constructor(runtime: Runtime, task: TaskRecord, call: PlainCall) {
    this.#runtime = runtime;
    this.#call = call;
    this.#sent = task.logged;
  }

  get newest(): LogLine | undefined {
    return this.#newest;
  }

  /** Resolves when the lines of this state are sent; reads none that its client has no use for. */
  async upTo(task: TaskRecord): Promise<void> {
    const { stream, request } = this.#call;
    const least = stream.logLevel();
    if (least === undefined) this.#sent = task.logged;
    const after =
      progressTokenOf(request.params) !== undefined ? Math.min(this.#seen, this.#sent) : this.#sent;
    if (after >= task.logged) return;
    const lines = await logLines(this.#runtime, task, task, after);
    for (const line of lines) {
      if (least === undefined || line.seq <= this.#sent || !isAtLeast(least, line)) continue;
      const { method, params } = logMessage(task.tool, line);
      stream.notify(method, params);
    }
    this.#sent = task.logged;
    this.#seen = task.logged;
    this.#newest = newestShown(lines) ?? this.#newest;
  }
}

/** After so much silence, in ms, the client gets a report. Clients give up after a minute or less. */
const silenceMs = 15_000;

/**
 * Sends progress to the client of a waiting call: the handler's reports, or logs before those, and, if there is nothing new, the last
 * report again. Many clients reset their timeouts with each report. The protocol demands that progress grows, so a repeated report is
 * larger by the smallest possible amount.
 */
export class KeepAlive {
  readonly #clock: Clock;
  readonly #send: (params: JsonObject) => void;
  #last: number | undefined;
  #task: TaskRecord | undefined;
  #line: LogLine | undefined;
  #cancelTimer: () => void = () => undefined;

  /** `sent`: the progress that the client may already have. */
  constructor(clock: Clock, send: (params: JsonObject) => void, sent?: number) {
    this.#clock = clock;
    this.#send = send;
    this.#last = sent;
    this.#arm();
  }

  /** The task as it is now, and the newest line of its log that goes with progress. */
  changed(task: TaskRecord, line?: LogLine): void {
    if (task.finishedAt === null) [this.#task, this.#line] = [task, line]; // the text of its end is no progress
    const report = shownProgress(task.progress, line);
    if (report === undefined) return;
    if (this.#last !== undefined && report.progress <= this.#last) return;
    this.#report({ ...report });
  }

  stop(): void {
    this.#cancelTimer();
  }

  #arm(): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.after(silenceMs, () => this.#tick());
  }

  #tick(): void {
    const last = this.#last;
    const progress = last === undefined ? 0 : last + Math.max(1e-6, Math.abs(last) * 1e-12);
    const { total } = this.#task?.progress ?? {};
    const shown = shownProgress(this.#task?.progress ?? null, this.#line);
    const message = shown?.message ?? this.#task?.statusMessage ?? undefined;
    this.#report({
      progress,
      ...(total !== undefined && total >= progress ? { total } : {}),
      ...(message === undefined ? {} : { message }),
    });
  }

  #report(report: JsonObject & { readonly progress: number }): void {
    this.#last = report.progress;
    this.#send(report);
    this.#arm();
  }
}
