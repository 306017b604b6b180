import type { TaskStore } from "../../store/store.ts";
import { childInputOf, type InputAnswer, type InputRequest } from "../../task/journal.ts";
import { HoldfastError, isUnreadable } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import { assertScopes } from "../../task/scopes.ts";
import { judgeAnswers } from "./answers.ts";

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

export function isForOperators({ params }: Pick<InputRequest, "params">): boolean {
  return params.includes(operatorsOnly) && hasMark(JSON.parse(params) as object, operatorsOnly);
}

export function isForPeople({ params }: Pick<InputRequest, "params">): boolean {
  return params.includes(peopleOnly) && hasMark(JSON.parse(params) as object, peopleOnly);
}

export function hasMark(
  { _meta }: { readonly _meta?: unknown },
  mark: typeof operatorsOnly | typeof peopleOnly,
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
