import { specTypeSchemas } from "@modelcontextprotocol/server";
import type { TaskStore } from "../../store/store.ts";
import {
  childInputOf,
  type InputAnswer,
  type InputMethod,
  type InputRequest,
  type JournalEnd,
  type JournalKey,
  missingForInput,
} from "../../task/journal.ts";
import { HoldfastError, isUnreadable, tooLarge } from "../../task/fault.ts";
import { generations, type TaskRecord } from "../../task/record.ts";
import { assertScopes } from "../../task/scopes.ts";
import { cutText, encodeJson } from "../../task/stored-text.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import { describeIssues, foreignSchema, isFields, jsonSchema } from "../tool/schema.ts";
import type { Read } from "../../options/options.ts";
import type { Attempt, OutsideWait } from "../execution/attempt.ts";
import { decodeError, parseStored } from "../stored-values.ts";
import { requestHash } from "../call-keys.ts";
import type { QuestionOptions } from "../tool/task-context.ts";

/** A question of a task or of one below it, with its key on the root of the tree. */
export interface OpenQuestion extends InputRequest {
  readonly askedBy: { readonly taskId: string; readonly key: string };
}

export interface UpdateTerms {
  /** The maximum size of an answer. */
  readonly maxBytes: number;
  /** Throws if the sender may not answer one of these questions. */
  readonly assertMayAnswer: (questions: readonly OpenQuestion[]) => void;
  /** Called with a task whose question cannot be read. */
  readonly onUnreadable?: (taskId: string) => void;
}

/**
 * The accepted answers of an update for each task that asked, by the keys of its questions. An update is accepted as a whole or rejected,
 * as `judgeAnswers` says. A question that is closed before its answer is written ignores it, like one that was closed before.
 */
export async function judgeUpdate(
  store: TaskStore,
  task: TaskRecord,
  answers: readonly InputAnswer[],
  { maxBytes, assertMayAnswer, onUnreadable }: UpdateTerms,
): Promise<ReadonlyMap<string, readonly InputAnswer[]>> {
  const questions = await openQuestions(store, task, answers, onUnreadable);
  assertMayAnswer(questions);
  return answersByTask(questions, judgeAnswers(questions, answers, maxBytes));
}

/**
 * The open questions, of a task and of those below it, that `answers` are for. Reads only these, however many are open. Rejects with
 * `task_unreadable`, and says whose question cannot be read.
 */
async function openQuestions(
  store: TaskStore,
  task: TaskRecord,
  answers: readonly InputAnswer[],
  onUnreadable: UpdateTerms["onUnreadable"],
): Promise<readonly OpenQuestion[]> {
  if (task.openInputs === 0) return [];
  const reading = async <T>(taskId: string, read: () => Promise<T>): Promise<T> => {
    try {
      return await read();
    } catch (error) {
      if (isUnreadable(error)) onUnreadable?.(taskId);
      throw error;
    }
  };
  const keys = new Set(answers.map(({ key }) => key));
  // Whoever names more keys than there are questions does not get one read for each.
  if (keys.size > task.openInputs) {
    const inputs = (await reading(task.id, () => store.snapshot(task.id)))?.inputs ?? [];
    const named = inputs.filter(({ key }) => keys.has(key));
    return named.map((input) => ({ ...input, askedBy: askerOf(task, input.key) }));
  }
  const questions = await Promise.all(
    [...keys].map(async (key): Promise<OpenQuestion[]> => {
      const asked = askerOf(task, key);
      const asking = await askingTask(store, task, asked.taskId);
      if (asking === undefined) return [];
      const entry = await reading(asked.taskId, () => store.journalEntry(asked.taskId, asked.key));
      if (entry === undefined || entry.kind !== "input" || entry.doneAt !== null) return [];
      const { method, request } = entry;
      if (method === null) return [];
      const { requiredScopes } = asking;
      return [{ key, method, params: request ?? "{}", requiredScopes, askedBy: asked }];
    }),
  );
  return questions.flat();
}

function askerOf(task: TaskRecord, key: string): OpenQuestion["askedBy"] {
  const child = task.childInputs === 0 ? undefined : childInputOf(key);
  return child ?? { taskId: task.id, key };
}

/** Undefined for a task outside the tree, since anyone can name any task. For an unreadable task, the owner is unknown. */
async function askingTask(store: TaskStore, root: TaskRecord, id: string): Promise<TaskRecord | undefined> {
  if (id === root.id) return root;
  try {
    const task = await store.get(id);
    return task?.parent?.root === root.id ? task : undefined;
  } catch (error) {
    if (isUnreadable(error)) return undefined;
    throw error;
  }
}

/** In `_meta` of a question that operators answer, and no client sees. */
export const operatorsOnly = "holdfast/operators-only";

/** In `_meta` of a question that people answer, and no model in their place: the user whom the client asks, or operators. */
export const peopleOnly = "holdfast/people-only";

/** In `_meta` of a question that another server asks, which judges the answers by the form itself: see `foreignSchema`. */
export const foreignForm = "holdfast/foreign-form";

export function isForOperators({ params }: Pick<InputRequest, "params">): boolean {
  return params.includes(operatorsOnly) && hasMark(JSON.parse(params) as object, operatorsOnly);
}

export function isForPeople({ params }: Pick<InputRequest, "params">): boolean {
  return params.includes(peopleOnly) && hasMark(JSON.parse(params) as object, peopleOnly);
}

export function hasMark(
  { _meta }: { readonly _meta?: unknown },
  mark: typeof operatorsOnly | typeof peopleOnly | typeof foreignForm,
): boolean {
  return typeof _meta === "object" && _meta !== null && mark in _meta && Reflect.get(_meta, mark) === true;
}

/** Throws `invalid_params` if one of the questions is for operators alone. */
export function assertNotForOperators(questions: readonly OpenQuestion[]): void {
  if (!questions.some(isForOperators)) return;
  const message =
    "This question is for those who operate the server. The task goes on when one of them has answered.";
  throw new HoldfastError("invalid_params", message);
}

/** Throws `insufficient_scope` if one of the questions is of a task that needs more scopes. */
export function assertScopesFor(
  questions: readonly OpenQuestion[],
  scopes: readonly string[] | undefined,
): void {
  for (const { requiredScopes = [] } of questions) assertScopes({ requiredScopes }, scopes);
}

function answersByTask(
  questions: readonly OpenQuestion[],
  answers: readonly InputAnswer[],
): ReadonlyMap<string, readonly InputAnswer[]> {
  const askedBy = new Map(questions.map((question) => [question.key, question.askedBy]));
  const byTask = new Map<string, InputAnswer[]>();
  for (const answer of answers) {
    const asked = askedBy.get(answer.key);
    if (asked === undefined) continue;
    byTask.set(asked.taskId, [...(byTask.get(asked.taskId) ?? []), { ...answer, key: asked.key }]);
  }
  return byTask;
}

const answerSchemas = {
  "elicitation/create": specTypeSchemas.ElicitResult,
  "sampling/createMessage": specTypeSchemas.CreateMessageResult,
  "roots/list": specTypeSchemas.ListRootsResult,
} as const;

type Params = Readonly<Record<string, unknown>>;

/**
 * Judges an update: what someone sent for several questions at once.
 * - A value under the key of an open question is its answer, whatever it is.
 * - If one of these does not fit its question, or is too large, this throws `invalid_params` with its key, and none is accepted.
 * - Under any other key, anything is ignored.
 */
export function judgeAnswers(
  questions: readonly InputRequest[],
  answers: readonly InputAnswer[],
  maxBytes: number,
): readonly InputAnswer[] {
  const byKey = new Map(questions.map((question) => [question.key, question]));
  return answers.flatMap((answer) => {
    const question = byKey.get(answer.key);
    if (question === undefined) return [];
    const judged = judgeOne(question, answer, maxBytes);
    if (typeof judged === "object") return [judged];
    throw new HoldfastError("invalid_params", `The answer to "${answer.key}" ${judged}.`);
  });
}

/** The answer to be stored, or why it is invalid. */
function judgeOne(
  { method, params }: InputRequest,
  answer: InputAnswer,
  maxBytes: number,
): InputAnswer | string {
  const text = textOf(answer);
  if (Buffer.byteLength(text) > maxBytes) return `is larger than ${maxBytes} bytes`;
  const parsed: unknown = JSON.parse(text);
  if ("error" in answer) return isClientError(parsed) ? answer : "is not a JSON-RPC error";
  const judged = judgeAnswer(method, JSON.parse(params) as Record<string, unknown>, parsed);
  if ("fault" in judged) return `does not fit the question: ${judged.fault}`;
  return judged.answer === parsed ? answer : { ...answer, value: JSON.stringify(judged.answer) };
}

function textOf(answer: InputAnswer): string {
  return "error" in answer ? answer.error : answer.value;
}

/** The answer as its handler gets it, or why it is invalid, in a line. */
export type Judged = { readonly answer: Answer } | { readonly fault: string };

type Answer = Record<string, unknown>;

/**
 * Whether a client's answer has the form that its question requires: that of its method and, for an accepted form, that of the form's
 * schema (X-P-021). Handlers get no other answers; the question stays open.
 */
export function judgeAnswer(method: InputMethod, params: Params, given: unknown): Judged {
  const { issues } = answerSchemas[method]["~standard"].validate(given);
  if (issues !== undefined) return { fault: cutText(describeIssues(issues)) };
  const answer = given as Answer;
  if (method !== "elicitation/create") return { answer };
  const fault = faultOfForm(params, answer);
  if (fault !== undefined) return { fault };
  // Some clients send null for no content. That is no content for handlers too.
  const { content, ...rest } = answer;
  return { answer: content === null ? rest : answer };
}

function faultOfForm(params: Params, { action, content }: Params): string | undefined {
  const { requestedSchema: schema } = params;
  if (action !== "accept" || !isFields(schema)) return undefined;
  try {
    const form = hasMark(params, foreignForm) ? foreignSchema(schema) : jsonSchema(schema);
    const checked = form["~standard"].validate(content ?? {});
    if (checked instanceof Promise || checked.issues === undefined) return undefined;
    return cutText([describeIssues(checked.issues), ...choicesMissed(schema, content)].join("; "));
  } catch {
    return undefined; // by a schema that is none, no answer can be judged, and the question must not stay open for ever
  }
}

/** For each field whose value is none of its choices: what they are, which the validator does not say. */
function choicesMissed(schema: object, content: unknown): string[] {
  const fields: unknown = "properties" in schema ? schema.properties : undefined;
  if (!isFields(fields) || !isFields(content)) return [];
  return Object.entries(fields).flatMap(([name, field]) => {
    const given = content[name];
    if (!isFields(field) || given === undefined) return [];
    const many = isFields(field["items"]);
    const choices = choicesOf(isFields(field["items"]) ? field["items"] : field);
    const values = many && Array.isArray(given) ? given : [given];
    if (choices === undefined || values.every((value) => choices.includes(value))) return [];
    const listed = choices.map((choice) => JSON.stringify(choice)).join(", ");
    return [`${JSON.stringify(name)} takes ${many ? "any of" : "one of"} ${listed}`];
  });
}

/** `enum`, or a `const` each in `oneOf`, and in `anyOf` for the items of a list. */
function choicesOf({ enum: values, oneOf, anyOf }: Params): readonly unknown[] | undefined {
  if (Array.isArray(values)) return values as readonly unknown[];
  const options: unknown = oneOf ?? anyOf;
  return Array.isArray(options)
    ? options.map((option: unknown) => isFields(option) && option["const"])
    : undefined;
}

/** Whether parsed JSON is the error object of a JSON-RPC response. */
function isClientError(value: unknown): value is JsonRpcError {
  if (typeof value !== "object" || value === null || !("code" in value) || !("message" in value))
    return false;
  return Number.isSafeInteger(value.code) && typeof value.message === "string";
}

/**
 * The rejection of a handler's question whose client answered with an error. Only the question failed: uncaught, it makes the tool's result
 * one with `isError`, and the client does not get its own error back as that of its call.
 */
export function inputFailed(key: string, error: JsonRpcError): HoldfastError {
  return new HoldfastError(
    "input_failed",
    `The client answered the question "${key}" with an error: ${error.message}`,
    { data: error },
  );
}

/**
 * Asks a question of the handler, and resolves with the answer's result object: through the journal, where an answered question is not asked
 * again (guarantee 6), or the caller of a run that stays without a task.
 */
export async function askQuestion(
  attempt: Attempt,
  key: JournalKey,
  method: InputMethod,
  params: object,
  options: Read<QuestionOptions>,
): Promise<unknown> {
  const { run, tool, services, direct } = attempt;
  if (direct?.ask !== undefined && run.setup.promote === undefined) {
    const { ask } = direct;
    run.claim(key);
    if (hasMark(params, operatorsOnly)) {
      const problem = "so operators cannot see its questions: only those of tasks are stored.";
      throw new HoldfastError("invalid_request", `This call of "${tool.name}" has no task, ${problem}`);
    }
    await run.checkpoint(); // nobody is there to be asked after the answer
    return run.whileWaiting("question", () => ask(key, method, params, options));
  }
  if (!attempt.isHeld) await attempt.becomeTask("it cannot ask.");
  attempt.reports.flush(); // clients see the question with the status text and the progress before it
  const usualMs = tool.inputTimeoutMs === undefined ? services.options.inputTimeoutMs : tool.inputTimeoutMs;
  if (!hasMark(params, operatorsOnly)) assertCapability(attempt, method, { ...params });
  const claimed = run.claim(key);
  attempt.countQuestion();
  const hash = requestHash(method, params);
  const raw = encodeQuestion(claimed, params, run.setup.maxBodyBytes);
  const entry = run.find(claimed, { kind: "input", method, requestHash: hash, request: raw });
  if (entry !== undefined && entry.doneAt !== null) return run.replayed(entry, answerOf);
  const { timeoutMs: ownMs } = options;
  const question: OutsideWait<"open_input"> = {
    key: claimed,
    entry,
    command: "open_input",
    method,
    begin: (deadlineAt) => ({
      input: { key: claimed, method, params: raw },
      requestHash: hash,
      deadlineAt,
    }),
    text: raw,
    timeoutMs: ownMs ?? usualMs ?? undefined,
    // A timeout that is not the question's own says how long any question may wait, within the life of its task.
    mustEndInTime: ownMs === undefined ? undefined : `The question "${claimed}"`,
    late: () => new HoldfastError("input_timeout", `The question "${claimed}" was not answered in time.`),
  };
  return attempt.until(question, answerOf);
}

function assertCapability({ held }: Attempt, method: InputMethod, params: Record<string, unknown>): void {
  const missing = missingForInput(method, params, held.origin.capabilities);
  if (missing === undefined) return;
  throw new HoldfastError(
    generations[held.record.generation].undeclared,
    `The client of this task cannot be asked: it did not declare ${Object.keys(missing).join(", ")}.`,
    { data: { requiredCapabilities: missing } },
  );
}

function encodeQuestion(key: string, params: object, maxBytes: number): string {
  const raw = encodeJson(params, `The question "${key}"`, maxBytes);
  if (Buffer.byteLength(raw) > maxBytes) throw tooLarge(`The question "${key}"`, maxBytes);
  return raw;
}

/** How a question ended: returns the answer's result object, or throws its error. */
function answerOf({ key, value, error: json }: JournalEnd): unknown {
  if (json === null) return parseStored(value ?? "null");
  const error = parseStored(json);
  throw isClientError(error) ? inputFailed(key, error) : decodeError(json);
}
