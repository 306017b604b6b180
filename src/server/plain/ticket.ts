import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { shownAddress } from "../../generation/web-address.ts";
import type { InputAnswer, InputRequest } from "../../task/journal.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { isUnknownTask } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { LineList, TaskLine } from "../../task/task-line.ts";
import { isTerminal, statusOf } from "../../task/outcome.ts";
import type { PollingToolNames } from "./plain-policies.ts";

/** Answers that refuse a question. */
const refusals: readonly string[] = ["decline", "cancel"];

/** A field of a question, with its schema as the model reads it. */
interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly schema: unknown;
}

/** A question as structured content of a ticket. */
export interface QuestionData {
  readonly message: string;
  readonly url?: string;
  readonly prompt?: string;
  readonly fields: readonly Field[];
  /** How to write the answer. */
  readonly answer: string;
}

interface DescribedQuestion {
  /** What the model reads. */
  readonly text: string;
  /** How to write the answer as the argument `answer` of `task_answer`. */
  readonly form: string;
  readonly data: QuestionData;
}

export function describeQuestion({ method, params }: InputRequest): DescribedQuestion {
  const asked = JSON.parse(params) as JsonObject;
  switch (method) {
    case "elicitation/create": {
      const message = String(asked["message"]);
      const url = typeof asked["url"] === "string" ? asked["url"] : undefined;
      const fields = fieldsOf(asked["requestedSchema"]);
      const lines = [
        `Question: ${message}`,
        ...(url === undefined ? [] : [`The user has to open this link: ${shownAddress(url)}`]),
        ...fieldLines(fields),
      ];
      const form = 'an object with the fields above, or "decline" or "cancel"';
      const answer = 'an object with these fields, or "decline" or "cancel"';
      return {
        text: lines.join("\n"),
        form,
        data: { message, ...(url === undefined ? {} : { url }), fields, answer },
      };
    }
    case "sampling/createMessage": {
      const prompt = promptOf(asked);
      const form = 'your message as a string, or "decline"';
      const data = { message: "Write the next message.", prompt, fields: [], answer: form };
      return { text: `Question: write the next message.\n${prompt}`, form, data };
    }
    case "roots/list": {
      const data = { message: "Which folders may be used?", fields: [], answer: '"decline"' };
      return { text: "Question: which folders may be used?", form: '"decline"', data };
    }
  }
}

/** What the model answered, in the form of the question's method. The runtime checks whether it fits the question. */
export function answerFor({ key, method }: InputRequest, answer: unknown): InputAnswer {
  const refused = typeof answer === "string" && refusals.includes(answer);
  if (method === "elicitation/create") {
    const value = refused ? { action: answer } : { action: "accept", content: formOf(answer) };
    return { key, value: JSON.stringify(value) };
  }
  if (refused || method === "roots/list") {
    return { key, error: JSON.stringify({ code: -1, message: "The request was declined." }) };
  }
  const text = typeof answer === "string" ? answer : JSON.stringify(answer);
  // The server does not know which model answered.
  const value = { role: "assistant", model: "unknown", content: { type: "text", text } };
  return { key, value: JSON.stringify(value) };
}

function fieldsOf(schema: unknown): readonly Field[] {
  const { properties, required } = isJsonObject(schema) ? schema : {};
  const isRequired = (name: string): boolean => Array.isArray(required) && required.includes(name);
  return Object.entries(isJsonObject(properties) ? properties : {}).map(([name, field]) => ({
    name,
    required: isRequired(name),
    schema: field,
  }));
}

function fieldLines(fields: readonly Field[]): string[] {
  if (fields.length === 0) return ["Fields: none."];
  const line = ({ name, required, schema }: Field): string =>
    `- ${name} (${required ? "required" : "optional"}): ${JSON.stringify(schema)}`;
  return ["Fields:", ...fields.map(line)];
}

function promptOf({ systemPrompt, messages }: JsonObject): string {
  const lines = Array.isArray(messages) ? messages.filter(isJsonObject).map(messageOf) : [];
  return [...(typeof systemPrompt === "string" ? [`system: ${systemPrompt}`] : []), ...lines].join("\n");
}

function messageOf({ role, content }: JsonObject): string {
  const text = isJsonObject(content) && typeof content["text"] === "string" ? content["text"] : undefined;
  return `${String(role)}: ${text ?? JSON.stringify(content)}`;
}

/** Models often send an object as a JSON string. */
function formOf(answer: unknown): unknown {
  if (typeof answer !== "string") return answer;
  try {
    return JSON.parse(answer) as unknown;
  } catch {
    return answer;
  }
}

/** Maximum that a model is shown of a running task: the newest. */
const most = { logLines: 5, lineCharacters: 500, outputBlocks: 20, outputCharacters: 16_384 };

/** What a task has to show before its result. */
interface WorkSoFar {
  /** The last lines of its log, as text. */
  readonly log: readonly string[];
  /** The newest content blocks of its output. */
  readonly output: readonly JsonObject[];
  /** How many blocks its output has. */
  readonly outputs: number;
}

/** Reads nothing of a task that has appended nothing. */
export async function workSoFar(runtime: Runtime, task: TaskRecord): Promise<WorkSoFar> {
  const [log, output] = await Promise.all([
    newest(runtime, task, { list: "log", count: task.logged, limit: most.logLines }),
    newest(runtime, task, { list: "output", count: task.outputs, limit: most.outputBlocks }),
  ]);
  return { log: log.map(lineText), output: fitting(output).map(parsed), outputs: task.outputs };
}

interface Wanted {
  readonly list: LineList;
  /** How many lines the list has had. */
  readonly count: number;
  readonly limit: number;
}

async function newest(
  runtime: Runtime,
  task: TaskRecord,
  { list, count, limit }: Wanted,
): Promise<readonly TaskLine[]> {
  if (count === 0) return [];
  try {
    return await runtime.lines(task.id, task, { list, after: Math.max(0, count - limit), limit });
  } catch (error) {
    if (isUnknownTask(error)) return []; // it has just been deleted, as its caller hears the next time
    throw error;
  }
}

function lineText({ body }: TaskLine): string {
  const { level, text } = parsed({ body });
  const line = `${String(level)}: ${String(text)}`.replaceAll(/\s+/g, " ");
  return line.length <= most.lineCharacters ? line : `${line.slice(0, most.lineCharacters).toWellFormed()}…`;
}

/** The last ones that are not too long together. */
function fitting(lines: readonly TaskLine[]): readonly TaskLine[] {
  let characters = 0;
  const tooMuch = lines.findLastIndex(({ body }) => (characters += body.length) > most.outputCharacters);
  return lines.slice(tooMuch + 1);
}

function parsed({ body }: Pick<TaskLine, "body">): JsonObject {
  const value: unknown = JSON.parse(body);
  return isJsonObject(value) ? value : {};
}

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
