import type { JsonObject } from "../../generation/message.ts";
import type { InputRequest } from "../../task/journal.ts";
import type { TaskRecord } from "../../task/record.ts";
import { isTerminal, statusOf } from "../../task/outcome.ts";
import type { PollingToolNames } from "./plain-policies.ts";
import { describeQuestion, type DescribedQuestion } from "./question-text.ts";
import type { WorkSoFar } from "./work-so-far.ts";

export interface TicketParts {
  readonly task: TaskRecord;
  /** The open question that the model has to answer, since its client cannot be asked. */
  readonly question: InputRequest | undefined;
  /** Undefined if the model must handle the question first, or the task has ended. */
  readonly work: WorkSoFar | undefined;
  readonly names: PollingToolNames;
  /** How long `task_result` waits, in ms. */
  readonly deadlineMs: number;
}

/**
 * The answer to a call whose task continues, or has just ended. It tells the model what runs and exactly what to call next. The structured
 * content repeats all of it, since some hosts show their model only that.
 */
export function ticket(parts: TicketParts): JsonObject {
  const { task, question, work, names } = parts;
  const reference = referenceOf(task);
  const described = question && describeQuestion(question);
  const text = described === undefined ? running(parts) : waiting(parts, described);
  const message = statusText(task);
  return {
    content: [{ type: "text", text }, ...(work?.output ?? [])],
    structuredContent: {
      text,
      reference,
      status: task.state === "settled" ? "completed" : statusOf(task),
      ...(message === undefined ? {} : { statusMessage: message }),
      ...(work === undefined || work.log.length === 0 ? {} : { log: work.log }),
      ...(work === undefined || work.output.length === 0 ? {} : { output: work.output }),
      pollAfterMs: task.pollIntervalMs,
      ...(described === undefined ? {} : { question: described.data }),
      next:
        described === undefined
          ? resultCall(task, names)
          : { tool: names.answer ?? names.result, arguments: { reference, question: question?.key } },
    },
  };
}

/** The call that gets the result of a task. */
export function resultCall(task: TaskRecord, names: PollingToolNames): JsonObject {
  return { tool: names.result, arguments: { reference: referenceOf(task) } };
}

/**
 * The name of a task for its caller, by which it is found in later sessions too: a host is restarted, and its model still has the ticket in its
 * conversation. A caller without a principal is known only in its session, so its ticket is its own key: the id, which nobody can guess.
 */
export function referenceOf({ principal, id, wireId }: TaskRecord): string {
  return principal === null ? id : wireId;
}

/** The progress and status message of a task, in one line. Once the task has ended, only the text of its end is left. */
export function statusText({ state, statusMessage, progress }: TaskRecord): string | undefined {
  const { progress: done, total, message } = (isTerminal(state) ? undefined : progress) ?? {};
  const count = done === undefined ? undefined : total === undefined ? `${done}` : `${done} of ${total}`;
  const parts = [count, message, statusMessage ?? undefined].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : [...new Set(parts)].join(", ");
}

function running({ task, work, names, deadlineMs }: TicketParts): string {
  const reference = referenceOf(task);
  const far = statusText(task);
  const toResult = `To get its result, call ${names.result} with ${argument({ reference })}.`;
  if (isTerminal(task.state)) return `${task.tool} has ended. ${toResult}`;
  return [
    `${task.tool} is still running${far === undefined ? "" : ` (${far})`}. Do not call ${task.tool} again for the same request.`,
    `${toResult} It waits up to ` +
      `${Math.max(1, Math.ceil(deadlineMs / 1_000))} s; if the response says that ${task.tool} is still running, call it again.`,
    `If the result is no longer wanted, call ${names.cancel} with ${argument({ reference })}.`,
    ...(work === undefined ? [] : shown(work)),
  ].join("\n");
}

/** The log itself; the output comes as content of its own. */
function shown({ log, output, outputs }: WorkSoFar): readonly string[] {
  const lines = log.length === 0 ? [] : ["The last lines of its log:", ...log.map((line) => `- ${line}`)];
  if (outputs === 0) return lines;
  const parts = output.length < outputs ? ` (the last ${output.length} of ${outputs} parts)` : "";
  return [...lines, `Its output so far${parts} follows this text. It is not the final result.`];
}

function waiting({ task, question, names }: TicketParts, { text, form }: DescribedQuestion): string {
  const reference = referenceOf(task);
  const before = argument({ reference, question: question?.key }).slice(0, -1);
  const after =
    names.answer === undefined
      ? "It also waits for the result."
      : `After that, call ${names.result} with ${argument({ reference })}.`;
  return [
    `${task.tool} needs an answer before it can continue.`,
    text,
    `Ask the user, unless you already know the answer. Then call ${names.answer ?? names.result} with ${before}, ` +
      `"answer": …}, where answer is ${form}. ${after}`,
  ].join("\n");
}

function argument(value: object): string {
  return JSON.stringify(value);
}
