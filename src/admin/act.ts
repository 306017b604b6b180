import { judgeUpdate } from "../runtime/questions/open-questions.ts";
import type { TaskStore } from "../store/store.ts";
import type { ActionBy, TaskRecord } from "../task/record.ts";
import { taskId } from "../task/task-id.ts";
import type { CommandResult, TaskCommand, TaskCommandName } from "../task/command.ts";
import { HoldfastError } from "../task/fault.ts";
import { isSealed } from "../task/stored-text.ts";
import { isTerminal } from "../task/outcome.ts";
import type { RetryOptions, TaskSummary } from "./admin.ts";
import { bulk } from "./bulk.ts";
import { invalid } from "./operation.ts";
import type { AdminActs } from "./operations.ts";
import { encrypted, refusal, retried, unfinished, unknown } from "./refusals.ts";
import { keptJournal, rerunOf } from "./rerun.ts";
import { summaryOf } from "./summary.ts";

/** What actions need besides the store. */
export interface ActServices {
  readonly store: TaskStore;
  readonly now: () => number;
  readonly randomBytes: (size: number) => Uint8Array;
  /** The maximum size of arguments and answers. */
  readonly maxBodyBytes: number;
  /** Called after each change, for a process that runs tasks of the store. */
  readonly onChange?: () => void;
}

/** Messages to requeue in one write. */
const resendPage = 1_000;

const cancelled = "Cancelled by an operator.";

/** One operator's actions on the tasks of a store, whichever process runs them. Owners are notified as of any other change. */
export class Acts implements AdminActs {
  readonly #services: ActServices;
  readonly #actor: string;

  constructor(services: ActServices, actor: string) {
    if (typeof actor !== "string" || actor.trim() === "")
      throw invalid("Actions are recorded under the operator's name, which must not be empty.");
    this.#services = services;
    this.#actor = actor;
  }

  async cancel(id: string): Promise<TaskSummary> {
    const statusMessage = cancelled;
    return this.#change(id, { type: "cancel", id, statusMessage, ...this.#by("cancel") });
  }

  async answer(id: string, answers: Readonly<Record<string, unknown>>): Promise<TaskSummary> {
    const { store, maxBodyBytes } = this.#services;
    const task = await this.#task(id);
    const given = Object.entries(answers).map(([key, value]) => ({ key, value: json(value) }));
    const judged = await judgeUpdate(store, task, given, {
      maxBytes: maxBodyBytes,
      assertMayAnswer(questions) {
        if (questions.some(({ params }) => isSealed(params))) throw encrypted(`answer task ${id}`);
      },
    });
    let accepted = 0;
    for (const [asking, own] of judged) {
      const detail = { keys: own.map(({ key }) => key) };
      const by = this.#by("answer", detail);
      const result = await this.#write({ type: "answer_inputs", id: asking, answers: own, ...by });
      if (result.ok) accepted += result.accepted.length;
    }
    if (accepted === 0)
      throw new HoldfastError("finished", `Task ${id} has no open question that these answers fit.`);
    return this.#summary(id);
  }

  async retry(id: string, options: RetryOptions = {}): Promise<TaskSummary> {
    const { store, now, randomBytes, maxBodyBytes } = this.#services;
    const old = await this.#task(id);
    if (!isTerminal(old.state)) throw unfinished(id, "run again");
    const request = await store.request(id);
    if (request === undefined) throw unknown(id);
    const { keepUpTo, fromStart } = options;
    const isChoice = keepUpTo !== undefined || fromStart === true || options.arguments !== undefined;
    if (keepUpTo !== undefined && fromStart === true) throw invalid("Give either keepUpTo or fromStart.");
    if (old.retriedAs !== undefined && !isChoice) throw retried(id, old.retriedAs);
    const journal = await keptJournal(store, id, options);
    const newId = taskId(now(), randomBytes);
    const rerun = rerunOf(old, request, { id: newId, now: now(), options });
    if (Buffer.byteLength(rerun.request.arguments) > maxBodyBytes)
      throw invalid(`The arguments are larger than ${maxBodyBytes} bytes.`);
    const detail = {
      ranAgainAs: newId,
      ...(keepUpTo !== undefined && { keepUpTo }),
      ...(fromStart === true && { fromStart }),
    };
    const result = await this.#write({
      type: "create",
      ...rerun,
      token: null,
      forAnyOwner: true,
      promised: true,
      ...(journal.length > 0 && { journal }),
      retryOf: { id, ...(isChoice && { again: true as const }) },
      ...this.#by("retry", detail, id),
    });
    if (result.ok) return summaryOf(result.task, null);
    throw result.reason === "retried" ? retried(id, (await this.#task(id)).retriedAs) : refusal(id, result);
  }

  async extend(id: string, until: number | null): Promise<TaskSummary> {
    if (until !== null && until <= this.#services.now())
      throw invalid("The new end of a task must be in the future.");
    return this.#change(id, { type: "extend", id, until, ...this.#by("extend", { until }) });
  }

  async delete(id: string): Promise<void> {
    const result = await this.#write({ type: "delete", id, ...this.#by("delete") });
    if (!result.ok && result.reason === "state") throw unfinished(id, "deleted");
    if (!result.ok) throw refusal(id, result);
  }

  async pause(tool: string): Promise<void> {
    const by = this.#by("pause");
    await this.#write({ type: "pause_tool", tool, actor: this.#actor, ...by });
  }

  async resume(tool: string): Promise<void> {
    await this.#write({ type: "resume_tool", tool, ...this.#by("resume") });
  }

  async resend(webhook: string): Promise<{ readonly resent: number }> {
    const by = this.#by("resend", { webhook });
    for (let resent = 0; ;) {
      const page = { type: "resend_deliveries", hook: webhook, limit: resendPage, ...by } as const;
      const result = await this.#write<"resend_deliveries">(page);
      resent += result.resent;
      if (result.resent < resendPage) return { resent };
    }
  }

  readonly bulk: AdminActs["bulk"] = (action, selection, options = {}) =>
    bulk(this.#services.store, this, action, selection, options);

  #by(
    action: string,
    detail?: ActionBy["detail"],
    about?: string,
  ): { readonly now: number; readonly by: ActionBy } {
    const by = {
      actor: this.#actor,
      action,
      ...(detail && { detail }),
      ...(about !== undefined && { taskId: about }),
    };
    return { now: this.#services.now(), by };
  }

  async #change(id: string, command: TaskCommand<"cancel"> | TaskCommand<"extend">): Promise<TaskSummary> {
    const result = await this.#write<"cancel" | "extend">(command);
    if (!result.ok) throw refusal(id, result);
    return summaryOf(result.task, null);
  }

  async #write<N extends TaskCommandName>(command: TaskCommand<N>): Promise<CommandResult<N>> {
    const result = await this.#services.store.write(command);
    this.#services.onChange?.();
    return result;
  }

  async #task(id: string): Promise<TaskRecord> {
    const task = await this.#services.store.get(id);
    if (task === undefined) throw unknown(id);
    return task;
  }

  async #summary(id: string): Promise<TaskSummary> {
    const snapshot = await this.#services.store.snapshot(id);
    if (snapshot === undefined) throw unknown(id);
    return summaryOf(snapshot.task, snapshot.outcome);
  }
}

function json(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw invalid("An answer must be JSON data.");
  return text;
}
