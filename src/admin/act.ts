import { judgeUpdate } from "../runtime/questions/questions.ts";
import type { ActionBy } from "../task/record.ts";
import { HoldfastError } from "../task/fault.ts";
import { isSealed } from "../task/stored-text.ts";
import { TaskActs, type ActServices, type Recording } from "./act-on-task.ts";
import { adminOf, encrypted, unknown } from "./admin-store-of.ts";
import type { IncidentMark, MarkOptions } from "./incident-operations.ts";
import type { DrainOptions, NodeSummary } from "./activity.ts";
import type { RetryOptions, TaskSelection, TaskSummary } from "./admin.ts";
import type { BulkAction, BulkJobShown, BulkOptions, BulkResult } from "./task-operations.ts";
import type { BulkActs } from "./bulk.ts";
import { invalid } from "./operation.ts";
import type { AdminActs } from "./operations.ts";
import { livingNode } from "./activity-of.ts";
import type { OperatorSessions } from "./operator-sessions.ts";
import { resend } from "./webhooks.ts";
import { summaryOf } from "./select-tasks.ts";
import type { ResendOptions, Resent } from "./task-parts.ts";

/** One operator's actions on the tasks of a store, whichever process runs them. Owners are notified as of any other change. */
export class Acts implements AdminActs {
  readonly #services: ActServices;
  readonly #tasks: TaskActs;
  readonly #jobs: BulkActs;
  readonly #sessions: OperatorSessions;
  readonly #actor: string;

  constructor(
    services: ActServices,
    { jobs, sessions }: { readonly jobs: BulkActs; readonly sessions: OperatorSessions },
    actor: string,
  ) {
    if (typeof actor !== "string" || actor.trim() === "")
      throw invalid("Actions are recorded under the operator's name, which must not be empty.");
    this.#services = services;
    this.#tasks = new TaskActs(services);
    this.#jobs = jobs;
    this.#sessions = sessions;
    this.#actor = actor;
  }

  async cancel(id: string): Promise<TaskSummary> {
    return summaryOf(await this.#tasks.cancel(id, this.#recording("cancel")), null);
  }

  async answer(id: string, answers: Readonly<Record<string, unknown>>): Promise<TaskSummary> {
    const { store, maxBodyBytes } = this.#services;
    const task = await this.#tasks.task(id);
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
      const result = await this.#tasks.write({ type: "answer_inputs", id: asking, answers: own, ...by });
      if (result.ok) accepted += result.accepted.length;
    }
    if (accepted === 0)
      throw new HoldfastError("finished", `Task ${id} has no open question that these answers fit.`);
    return this.#summary(id);
  }

  async retry(id: string, options: RetryOptions = {}): Promise<TaskSummary> {
    return summaryOf(await this.#tasks.retry(id, options, this.#recording("retry")), null);
  }

  async extend(id: string, until: number | null): Promise<TaskSummary> {
    return summaryOf(await this.#tasks.extend(id, until, this.#recording("extend")), null);
  }

  async unblock(id: string): Promise<TaskSummary> {
    return summaryOf(await this.#tasks.unblock(id, this.#recording("unblock")), null);
  }

  async delete(id: string): Promise<void> {
    await this.#tasks.delete(id, this.#recording("delete"));
  }

  async endSession(session: string): Promise<void> {
    await this.#sessions.end(session, this.#actor);
  }

  async pause(tool: string): Promise<void> {
    const by = this.#by("pause");
    await this.#tasks.write({ type: "pause_tool", tool, actor: this.#actor, ...by });
  }

  async resume(tool: string): Promise<void> {
    await this.#tasks.write({ type: "resume_tool", tool, ...this.#by("resume") });
  }

  async mark(cause: string, { mute, unmute, note }: MarkOptions = {}): Promise<IncidentMark> {
    if (!/^[ck][0-9a-f]{16}$/.test(cause))
      throw invalid(`${JSON.stringify(cause)} is not a cause of failures.`);
    if (mute === true && unmute === true) throw invalid("Give mute or unmute, not both.");
    const { store, now } = this.#services;
    const known = (await adminOf(store).causes.marks()).find((mark) => mark.cause === cause);
    const mark = {
      cause,
      muted: mute ?? (unmute === true ? false : (known?.muted ?? false)),
      note: note === undefined ? (known?.note ?? null) : note.trim() === "" ? null : note,
      actor: this.#actor,
      at: now(),
    };
    const by = this.#by("mark", { cause, muted: mark.muted });
    await this.#tasks.write({ type: "mark_cause", mark, ...by });
    return mark;
  }

  async drain(node: string, { withinMs = 30_000, undo = false }: DrainOptions = {}): Promise<NodeSummary> {
    const { store, now } = this.#services;
    await livingNode(store.reports, now(), node);
    const until = undo ? null : now() + withinMs;
    const by = this.#by("drain", { node, ...(undo ? { undo } : { withinMs }) });
    await this.#tasks.write({ type: "drain_owner", owner: node, until, ...by });
    return livingNode(store.reports, now(), node);
  }

  async resend(webhook: string, options: ResendOptions = {}): Promise<Resent> {
    const { store, now } = this.#services;
    const by = () => this.#by("resend", { webhook, ...options });
    return resend(store, this.#tasks, { webhook, options, by, now });
  }

  async bulk(action: BulkAction, selection: TaskSelection, options: BulkOptions = {}): Promise<BulkResult> {
    return this.#jobs.act(this.#actor, action, selection, options);
  }

  async cancelBulk(id: string): Promise<BulkJobShown> {
    return this.#jobs.cancel(this.#actor, id);
  }

  #by(action: string, detail?: ActionBy["detail"]): { readonly now: number; readonly by: ActionBy } {
    const by = { actor: this.#actor, action, ...(detail && { detail }) };
    return { now: this.#services.now(), by };
  }

  #recording(action: string): Recording {
    return (detail, taskId) => {
      const { by } = this.#by(action, detail);
      return { by: { ...by, ...(taskId !== undefined && { taskId }) } };
    };
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
