import type { Call, History } from "../histories/history.ts";
import type { Message } from "../kit/messages.ts";
import { EventStream, SessionClient } from "../kit/session-client.ts";
import { isUnknown, patience, type PatienceMs, RpcError, shownBy, type SeenTask } from "./rpc.ts";

/** A question of a task; `answer` resolves when the server has acknowledged the answer, and so keeps it. */
export interface Question {
  readonly taskId: string;
  readonly answer: (word: string) => Promise<void>;
}

type Answer =
  { readonly result: Message } | { readonly error: { readonly code: number; readonly message: string } };

/**
 * A client of 2025-11-25, whose questions come on the stream of its session or on that of `tasks/result`. When its
 * session ends it opens another. Rejects when the server is not there, dies before it answered, or is late.
 */
export class CoreRpc {
  readonly url: string;
  readonly #history: History;
  readonly #onQuestion: (question: Question) => void;
  readonly #patienceMs: PatienceMs | undefined;
  #session: Promise<SessionClient> | undefined;
  #id = 0;

  constructor(
    url: string,
    history: History,
    onQuestion: (question: Question) => void,
    patienceMs?: PatienceMs,
  ) {
    this.url = url;
    this.#history = history;
    this.#onQuestion = onQuestion;
    this.#patienceMs = patienceMs;
  }

  async call(name: string, args: object, key: string | undefined): Promise<string> {
    const _meta = key === undefined ? {} : { "holdfast/idempotencyKey": key };
    return this.#history.record(
      { kind: "create", key },
      async () => {
        const { task } = await this.#result("tools/call", { name, arguments: args, task: {}, _meta });
        return (task as { taskId: string }).taskId;
      },
      (id) => ({ kind: "create", key, id }),
    );
  }

  get(taskId: string): Promise<SeenTask> {
    const asked: Call = { kind: "read", id: taskId };
    return this.#history.record(
      asked,
      async () => (await this.#result("tasks/get", { taskId })) as unknown as SeenTask,
      (task) => ({ ...asked, shown: shownBy("tasks/get", task) }),
      (error) => (isUnknown(error) ? { ...asked, shown: "unknown" } : asked),
    );
  }

  /** Waits for the end of the task: what its call would have answered, or the error. */
  outcome(taskId: string): Promise<Answer> {
    const asked: Call = { kind: "read", id: taskId };
    return this.#history.record(
      asked,
      () => this.#send("tasks/result", { taskId }),
      // An error may be the task's, or that the server stops.
      (answer) => {
        if ("error" in answer) return asked;
        const text = JSON.stringify(answer.result);
        return { ...asked, shown: { by: "tasks/result", text, isFinal: true, asks: [] } };
      },
    );
  }

  /** False where the task had ended before. */
  cancel(taskId: string): Promise<boolean> {
    const asked: Call = { kind: "cancel", id: taskId };
    return this.#history.record(
      asked,
      async () => {
        const answer = await this.#send("tasks/cancel", { taskId });
        if ("error" in answer && answer.error.message.includes("already in terminal status")) return false;
        const { status } = resultOf(answer, `tasks/cancel ${taskId}`);
        if (status === "cancelled") return true;
        throw new RpcError(`${taskId} is ${String(status)} after its cancel`);
      },
      (isCancelled) => ({ ...asked, outcome: isCancelled ? "cancelled" : "had ended" }),
    );
  }

  /** Ends the session and all that is in flight in it. */
  async leave(): Promise<void> {
    await (await this.#session)?.send("DELETE");
  }

  async #result(method: string, params: object): Promise<Message> {
    return resultOf(await this.#send(method, params), `${method} ${JSON.stringify(params)}`);
  }

  async #send(method: string, params: object): Promise<Answer> {
    for (;;) {
      const session = (this.#session ??= this.#open());
      const peer = await session.catch((error: unknown) => {
        if (this.#session === session) this.#session = undefined;
        throw error;
      });
      const response = await peer.post({ id: ++this.#id, method, params });
      const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
      if (response.ok) {
        const answer = isJson ? await response.json() : await this.#read(new EventStream(response), peer);
        if (answer !== undefined) return answer as Answer;
      }
      if (this.#session === session) this.#session = undefined; // it ended
    }
  }

  async #open(): Promise<SessionClient> {
    const capabilities = { elicitation: { form: {} } };
    // The stream of a session is silent for as long as there is nothing to say.
    const impatientFetch = (url: string, init: RequestInit): Promise<Response> =>
      fetch(url, init.method === "GET" ? init : { ...init, signal: patience(this.#patienceMs) });
    const peer = await SessionClient.open(this.url, { capabilities }, impatientFetch);
    const stream = await peer.listen();
    this.#read(stream, peer).catch(() => undefined); // it died, and so does what is in flight
    return peer;
  }

  /** Takes what comes until the answer, if there is one. */
  async #read(stream: EventStream, peer: SessionClient): Promise<Message | undefined> {
    for (let message = await stream.message(); message !== undefined; message = await stream.message()) {
      if (!("method" in message)) return message;
      if (message["method"] === "elicitation/create") this.#onQuestion(questionOf(message, peer));
    }
    return undefined;
  }
}

function questionOf({ id, params }: Message, peer: SessionClient): Question {
  const meta = (params as Message)["_meta"] as Record<string, { taskId: string }>;
  return {
    taskId: meta["io.modelcontextprotocol/related-task"]?.taskId ?? "",
    answer: async (word) => {
      const result = { action: "accept", content: { word } };
      await (await peer.post({ id, result })).text();
    },
  };
}

export function resultOf(answer: Answer, what: string): Message {
  if ("result" in answer) return answer.result;
  throw new RpcError(what, answer.error);
}
