import type { JSONRPCNotification, JSONRPCRequest, RequestId } from "@modelcontextprotocol/client";
import type { RemoteTask, WorkingTask } from "../task/remote-task.ts";
import type { TaskObserver, TaskProtocol } from "../task-protocol.ts";
import type { PendingQuestions } from "./pending-questions.ts";
import { inputMethods } from "../../task/journal.ts";
import { type UserCallbacks, askUser } from "../question/ask-user.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { RequestDeduplicator } from "./bounded-map.ts";

/** A task that has not ended, as its server reports it. Its questions come as separate requests. */
export type ActiveTask = Omit<WorkingTask, "status"> & {
  readonly status: "working" | "input_required";
};

/** What a server sends about one task: its questions and its state, passed on to the observers. */
export class TaskInbox {
  readonly questions: PendingQuestions;
  readonly #observers = new Set<TaskObserver>();
  #seen: ActiveTask | undefined;

  constructor(questions: PendingQuestions) {
    this.questions = questions;
  }

  get isObserved(): boolean {
    return this.#observers.size > 0;
  }

  get isEmpty(): boolean {
    return !this.isObserved && this.questions.size === 0;
  }

  addObserver(observer: TaskObserver, known: RemoteTask | undefined): void {
    this.#observers.add(observer);
    if (known?.status === "working") this.#seen ??= known;
    if (this.questions.size > 0) this.questionsChanged();
  }

  removeObserver(observer: TaskObserver): void {
    this.#observers.delete(observer);
  }

  /** Stores the state of an active task, and returns it with its pending questions. */
  update(seen: ActiveTask): RemoteTask {
    if (this.#seen === undefined || this.#seen.lastUpdatedAt <= seen.lastUpdatedAt) this.#seen = seen;
    if (seen.status !== "input_required") this.questions.dropStale();
    return withQuestions(seen, this.questions);
  }

  /** Publishes the task after a change of its questions, which the server's status may not show. */
  questionsChanged(): void {
    if (this.#seen === undefined) this.requestPoll();
    else this.publish(withQuestions(this.#seen, this.questions));
  }

  requestPoll(): void {
    for (const observer of this.#observers) observer.onPollNeeded();
  }

  publish(task: RemoteTask): void {
    for (const observer of this.#observers) observer.onTask(task);
  }
}

/** The task if none of its questions are known. */
function withoutQuestions(seen: ActiveTask): RemoteTask {
  return seen.status === "input_required"
    ? { ...seen, status: "input_required", inputRequests: {} }
    : { ...seen, status: "working" };
}

/** A task with a pending question is `input_required`, even if the server does not say so yet. */
function withQuestions(seen: ActiveTask, questions: PendingQuestions): RemoteTask {
  if (questions.size === 0 && seen.status === "working") return { ...seen, status: "working" };
  return { ...seen, status: "input_required", inputRequests: questions.open() };
}

interface TaskInboxesOptions<Inbox> {
  readonly requester: RawRequester;
  readonly callbacks: UserCallbacks;
  /** The task that a request of the server belongs to. */
  readonly relatedTaskOf: (params: unknown) => string | undefined;
  readonly makeInbox: (taskId: string) => Inbox;
}

const methods: ReadonlySet<string> = new Set(inputMethods);

/** Routes the server's requests, from any stream, to the tasks that they belong to (C-095, S-062). */
export class TaskInboxes<Inbox extends TaskInbox> {
  readonly #options: TaskInboxesOptions<Inbox>;
  readonly #withoutTask: QuestionsWithoutTask;
  readonly #inboxes = new Map<string, Inbox>();
  readonly #deduplicator = new RequestDeduplicator();

  constructor(options: TaskInboxesOptions<Inbox>) {
    const { requester, callbacks } = options;
    this.#options = options;
    this.#withoutTask = new QuestionsWithoutTask(requester, callbacks);
    requester.handlers.onRequest((request) => this.#onRequest(request));
    requester.handlers.onNotification((notification) => this.#onNotification(notification));
  }

  get(taskId: string): Inbox | undefined {
    return this.#inboxes.get(taskId);
  }

  /** As `TaskProtocol.observe`. */
  readonly observe: NonNullable<TaskProtocol["observe"]> = (taskId, observer, known) => {
    const inbox = this.#inboxOf(taskId);
    inbox.addObserver(observer, known);
    return () => {
      inbox.removeObserver(observer);
      this.#removeIfEmpty(taskId, inbox);
    };
  };

  /** An active task as the server reports it, with its pending questions. */
  withQuestions(seen: ActiveTask): RemoteTask {
    return this.#inboxes.get(seen.taskId)?.update(seen) ?? withoutQuestions(seen);
  }

  /** As `TaskProtocol.answer`. Sends nothing for a task that is not observed and has no questions. */
  readonly answer: TaskProtocol["answer"] = async (taskId, key, result, signal) => {
    const inbox = this.#inboxes.get(taskId);
    return inbox?.questions.answer(key, result, signal) ?? { kind: "value", value: undefined };
  };

  /** Drops the questions of an ended task. */
  taskEnded(taskId: string): void {
    const inbox = this.#inboxes.get(taskId);
    if (inbox === undefined) return;
    inbox.questions.clear();
    this.#removeIfEmpty(taskId, inbox);
  }

  #onRequest(request: JSONRPCRequest): boolean {
    const { callbacks, relatedTaskOf, requester } = this.#options;
    const { onInput, declares } = callbacks;
    const { method, params = {} } = request;
    // Without `onInput` the SDK's client handles it: by a handler of the host, or by an error.
    if (!methods.has(method) || onInput === undefined || !declares({ method, params })) return false;
    if (!this.#deduplicator.isFirst(request.id, requester.session)) return true;
    const taskId = relatedTaskOf(request.params);
    if (taskId === undefined) this.#withoutTask.ask(request);
    else {
      const inbox = this.#inboxOf(taskId);
      if (inbox.questions.add(request)) inbox.questionsChanged();
    }
    return true;
  }

  /** Returns false: the host's handlers get it too. */
  #onNotification({ method, params }: JSONRPCNotification): boolean {
    if (method !== "notifications/cancelled") return false;
    const id = params?.["requestId"];
    this.#withoutTask.withdraw(id);
    for (const inbox of this.#inboxes.values()) if (inbox.questions.withdraw(id)) inbox.questionsChanged();
    return false;
  }

  #inboxOf(taskId: string): Inbox {
    let inbox = this.#inboxes.get(taskId);
    if (inbox === undefined) this.#inboxes.set(taskId, (inbox = this.#options.makeInbox(taskId)));
    return inbox;
  }

  #removeIfEmpty(taskId: string, inbox: Inbox): void {
    if (inbox.isEmpty && this.#inboxes.get(taskId) === inbox) this.#inboxes.delete(taskId);
  }
}

/** The error for a question that could not be answered. */
const notAnswered = { code: -32603, message: "The question could not be answered." };

/** A server's questions that belong to no task, but to a plain call. */
export class QuestionsWithoutTask {
  readonly #requester: RawRequester;
  readonly #callbacks: UserCallbacks;
  readonly #open = new Map<RequestId, AbortController>();

  constructor(requester: RawRequester, callbacks: UserCallbacks) {
    this.#requester = requester;
    this.#callbacks = callbacks;
  }

  ask(request: JSONRPCRequest): void {
    const controller = new AbortController();
    this.#open.set(request.id, controller);
    const signal = AbortSignal.any([controller.signal, this.#requester.closed]);
    this.#callbacks
      .inOwnContext(() => this.#answer(request, signal))
      .catch(() => undefined)
      .finally(() => {
        if (this.#open.get(request.id) === controller) this.#open.delete(request.id);
      });
  }

  withdraw(id: unknown): void {
    if (typeof id !== "string" && typeof id !== "number") return;
    this.#open.get(id)?.abort(new Error("The server withdrew the question"));
  }

  async #answer({ id, method, params = {} }: JSONRPCRequest, signal: AbortSignal): Promise<void> {
    const requester = this.#requester;
    let message: { result: Record<string, unknown> } | { error: typeof notAnswered } = { error: notAnswered };
    try {
      const question = { key: String(id), method, params, taskId: null };
      const answer = await askUser(question, this.#callbacks, signal);
      if (answer.kind === "answer") message = { result: { ...answer.result } };
    } finally {
      // The server gets an answer even if `onInputError` throws.
      if (!signal.aborted) await requester.sendOnce({ jsonrpc: "2.0", id, ...message });
    }
  }
}
