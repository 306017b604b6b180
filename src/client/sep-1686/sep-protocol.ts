import type { JsonObject } from "../../generation/json-object.ts";
import { generation } from "../../generation/sep-1686/name.ts";
import { declaresTask } from "../../generation/sep-1686/negotiate.ts";
import { relatedTaskOf, withRelatedTask } from "../../generation/sep-1686/related-task.ts";
import type { ClientClock } from "../clock.ts";
import type { UserCallbacks } from "../question/ask-user.ts";
import type { InputResult } from "../question/input-request.ts";
import { readReply, Violation, type ErrorReply, type Reply } from "../reply/reply.ts";
import { listParams, readTaskPage } from "../session/read-task-page.ts";
import { readToolResult } from "../session/read-tool-result.ts";
import { Recent } from "../session/recent.ts";
import { TaskAskings } from "../session/task-askings.ts";
import { TaskRoom, withoutQuestions, type OngoingTask } from "../session/task-room.ts";
import { TaskRooms } from "../session/task-rooms.ts";
import { pollInterval } from "../task/pacing.ts";
import { isUnknown } from "../task/poll-loop.ts";
import type { TaskPage, TaskSummary } from "../task/listed-task.ts";
import { hasEnded, type EndedTask, type RemoteTask } from "../task/remote-task.ts";
import type {
  CallAnswer,
  ReadAnswer,
  ReadRequest,
  TaskAttendant,
  TaskProtocol,
  ToolCall,
} from "../task-protocol.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { requestInTime } from "../transport/request-in-time.ts";
import { cancellation } from "./cancellation.ts";
import { readListed, readTask, type ToldTask } from "./read-task.ts";
import { SeenTasks } from "./seen-tasks.ts";
import { SepCalls } from "./sep-calls.ts";

interface SepProtocolOptions {
  readonly requester: RawRequester;
  readonly clock: ClientClock;
  readonly callbacks: UserCallbacks;
  /** What the server declared: it may have tasks without a word of them. */
  readonly server: JsonObject;
}

/** Answers and ends that came by themselves are kept for those who ask later, this many. */
const mostEnded = 100;
/** How long a server may take to cancel a task (S-071). */
const cancelWaitMs = 30_000;

/**
 * The tasks of the original proposal: the client names its tasks, by the key of their calls, and the server answers the
 * call in the end as if there were none.
 */
export class SepProtocol implements TaskProtocol {
  readonly generation = generation;
  /** A question is a request of its own, whose id lives as long as its stream; only some servers name it. */
  readonly keepsQuestionKeys = false;
  /** A repeated call is looked for before it is sent, and refused where nobody can tell (S-023). */
  readonly recognisesRepeats = true;
  readonly looksFirst = true;
  readonly #services: Pick<SepProtocolOptions, "requester" | "clock">;
  readonly #rooms: TaskRooms<TaskRoom>;
  readonly #calls: SepCalls;
  readonly #seen: SeenTasks;
  readonly #ended = new Recent<EndedTask>(mostEnded);

  constructor({ requester, clock, callbacks, server }: SepProtocolOptions) {
    this.#services = { requester, clock };
    this.#seen = new SeenTasks(clock);
    const makeRoom = (taskId: string): TaskRoom =>
      new TaskRoom(new TaskAskings(taskId, requester, withRelatedTask));
    this.#rooms = new TaskRooms({ requester, callbacks, relatedTaskOf, makeRoom });
    this.#calls = new SepCalls({
      requester,
      clock,
      declared: (method) => declaresTask(server, method),
      look: async (taskId, signal) => this.#look(taskId, signal),
      onTask: (taskId) => this.#seen.begin(taskId),
      onAnswer: (taskId, answer) => this.#answered(taskId, answer),
    });
  }

  /** As long as its task can be found; a look tells that each time. */
  recognisedMs(): number {
    return Infinity;
  }

  async call(call: ToolCall, signal: AbortSignal): Promise<Reply<CallAnswer>> {
    return this.#calls.start(call, signal);
  }

  readonly read = async (request: ReadRequest, signal: AbortSignal): Promise<Reply<ReadAnswer>> =>
    this.#calls.read(request, signal);

  async get(taskId: string, signal: AbortSignal): Promise<Reply<RemoteTask>> {
    const ended = this.#ended.get(taskId);
    if (ended !== undefined) return { kind: "value", value: ended };
    const reply = await this.#look(taskId, signal);
    if (reply.kind !== "value") return reply;
    const told = reply.value;
    switch (told.status) {
      case "submitted":
      case "working":
      case "input_required": {
        const status = told.status === "input_required" ? told.status : "working";
        return { kind: "value", value: this.#shown(this.#seen.goesOn(told, status)) };
      }
      case "completed":
        return this.#completed(told, signal);
      case "failed":
        return this.#failed(told, told.error ?? "The task failed, and the server does not say why");
      case "unknown": // an end as well
        return this.#failed(told, told.error ?? "The server does not report what happened to the task");
      case "cancelled":
        return { kind: "value", value: this.#over(this.#seen.cancelled(taskId, told)) };
    }
  }

  async answer(
    taskId: string,
    key: string,
    result: InputResult,
    signal: AbortSignal,
  ): Promise<Reply<undefined>> {
    const room = this.#rooms.get(taskId);
    return room === undefined ? done : room.askings.answer(key, result, signal);
  }

  /** By the id of the request that the task came of, which only its own session knows (S-063). */
  async cancel(taskId: string, signal: AbortSignal): Promise<Reply<undefined>> {
    const { requester } = this.#services;
    const requests = this.#calls.requestsOf(taskId);
    if (requests.length === 0) {
      const now = await this.get(taskId, signal);
      if (now.kind !== "value") return now;
      return hasEnded(now.value) ? done : notCancellable;
    }
    for (const { id } of requests) {
      const told = await requester.tell(cancellation(id, taskId, "The task was cancelled"));
      if (told.kind !== "value") return told;
    }
    return this.#untilOver(taskId, signal);
  }

  /** A task can have to be gone before its time (S-055). */
  async delete(taskId: string, signal: AbortSignal): Promise<Reply<undefined>> {
    const reply = await this.#request("tasks/delete", taskId, signal);
    if (reply.kind !== "value") return reply;
    this.#ended.delete(taskId);
    return done;
  }

  /** A list belongs to no task. */
  async list(cursor: string | undefined, signal: AbortSignal): Promise<Reply<TaskPage<TaskSummary>>> {
    const reply = await requestInTime(this.#services, "tasks/list", listParams(cursor), signal);
    return readReply(reply, (answer) => readTaskPage(answer, readListed));
  }

  attend(taskId: string, attendant: TaskAttendant, known: RemoteTask | undefined): () => void {
    return this.#rooms.enter(taskId, attendant, known);
  }

  #answered(taskId: string, answer: Reply<JsonObject>): void {
    if (this.#ended.get(taskId) !== undefined) return;
    if (answer.kind === "error") this.#over(this.#seen.failed(taskId, answer.error));
    const result = answer.kind === "value" ? readToolResult(answer.value) : undefined;
    if (result !== undefined && !(result instanceof Violation)) {
      this.#over(this.#seen.completed(taskId, result));
    }
  }

  #shown(seen: OngoingTask): RemoteTask {
    return this.#rooms.get(seen.taskId)?.goesOn(seen) ?? withoutQuestions(seen);
  }

  async #completed(told: ToldTask, signal: AbortSignal): Promise<Reply<RemoteTask>> {
    const { taskId } = told;
    const reply = await this.#request("tasks/result", taskId, signal);
    return readReply(reply, (answer) => {
      const result = readToolResult(answer);
      if (result instanceof Violation) return result;
      return this.#ended.get(taskId) ?? this.#over(this.#seen.completed(taskId, result, told));
    });
  }

  /** No more than a text is told; the answer to the call itself has the error, where it was heard. */
  #failed(told: ToldTask, message: string): Reply<RemoteTask> {
    const task = this.#seen.failed(told.taskId, { code: -32603, message }, told);
    return { kind: "value", value: this.#over(task) };
  }

  #over(task: EndedTask): EndedTask {
    const { taskId } = task;
    this.#ended.set(taskId, task);
    this.#rooms.get(taskId)?.push(task);
    this.#rooms.over(taskId);
    this.#calls.drop(taskId);
    return task;
  }

  /** Until the task has ended, as far as that can be waited for (S-070, S-071). */
  async #untilOver(taskId: string, signal: AbortSignal): Promise<Reply<undefined>> {
    const { clock } = this.#services;
    const until = clock.elapsed() + cancelWaitMs;
    for (;;) {
      const now = await this.get(taskId, signal);
      if (isUnknown(now))
        this.#over(this.#seen.cancelled(taskId)); // and not kept
      else if (now.kind !== "value") return now;
      else if (!hasEnded(now.value)) {
        if (clock.elapsed() >= until) return notCancelled;
        await clock.sleep(pollInterval(now.value, 0), signal);
        continue;
      }
      return done;
    }
  }

  async #look(taskId: string, signal: AbortSignal): Promise<Reply<ToldTask>> {
    return readReply(await this.#request("tasks/get", taskId, signal), (answer) => readTask(answer, taskId));
  }

  async #request(method: string, taskId: string, signal: AbortSignal): Promise<Reply<JsonObject>> {
    return requestInTime(this.#services, method, withRelatedTask({ taskId }, taskId), signal);
  }
}

const done: Reply<undefined> = { kind: "value", value: undefined };

const notCancellable: ErrorReply = {
  kind: "error",
  error: {
    code: -32601,
    message: "In SEP-1686 a task is cancelled by the id of its request, in the session that sent it",
  },
};

const notCancelled: Reply<never> = {
  kind: "bad",
  code: "protocol",
  message: `The server was told to cancel the task, which goes on after ${cancelWaitMs / 1000} seconds`,
};
