import { ProtocolError, type RequestId } from "@modelcontextprotocol/client";
import { waitFor } from "../../../runtime/wait-for.ts";
import { askUser, type UserAnswer, type UserCallbacks } from "../../question/ask-user.ts";
import { isJsonObject, type JsonObject } from "../../../generation/message.ts";
import { questionKeyOf } from "../../../generation/extensions.ts";
import { requestHash } from "../../../runtime/call-keys.ts";
import { detailsOf } from "../../../runtime/tool/received-request.ts";
import { Registry } from "../../../runtime/tool/registry.ts";
import type { TaskSnapshot } from "../../../task/record.ts";
import type { TaskCall } from "../../../runtime/runtime.ts";
import { traceOf, withoutTrace } from "../../client-events.ts";
import { unlessAborted, untilAborted } from "../../background-work.ts";
import { BoundedMap } from "../bounded-map.ts";

/** The callbacks of one connection. */
interface Responder {
  readonly callbacks: UserCallbacks;
  /** Aborts when the connection has ended. */
  readonly disconnected: AbortSignal;
}

type UserQuestion = Parameters<typeof askUser>[0];

/** The open connections that can answer questions, by server. A question waits until its server has one. */
export class Responders {
  readonly #responders = new Map<string, Set<Responder>>();
  readonly #wakeups = new Set<() => void>();

  /** Returns a function that removes it. */
  add(server: string, callbacks: UserCallbacks): () => void {
    const disconnect = new AbortController();
    const responder = { callbacks, disconnected: disconnect.signal };
    const responders = this.#responders.get(server) ?? new Set();
    this.#responders.set(server, responders.add(responder));
    for (const wake of this.#wakeups) wake();
    return () => {
      responders.delete(responder);
      if (responders.size === 0 && this.#responders.get(server) === responders)
        this.#responders.delete(server);
      disconnect.abort(new Error("The connection has ended"));
    };
  }

  /**
   * Asks the user. If the connection ends before the answer, asks again through the next one. Rejects with the
   * signal's reason.
   */
  async ask(server: string, question: UserQuestion, signal: AbortSignal): Promise<UserAnswer> {
    for (;;) {
      signal.throwIfAborted();
      const [responder] = this.#responders.get(server) ?? [];
      if (responder === undefined) {
        await waitFor((wake) => {
          this.#wakeups.add(wake);
          return () => this.#wakeups.delete(wake);
        }, signal);
        continue;
      }
      try {
        const { callbacks, disconnected } = responder;
        const over = AbortSignal.any([signal, disconnected]);
        return await callbacks.inOwnContext(() => askUser(question, callbacks, over));
      } catch (error) {
        if (signal.aborted || !responder.disconnected.aborted) throw error;
      }
    }
  }
}

/** The requests that a server can have a client run as tasks. */
export const questionMethods = ["elicitation/create", "sampling/createMessage"] as const;

export type QuestionMethod = (typeof questionMethods)[number];

/** A server's question, which this client has declared to answer. */
export interface Question {
  readonly id: RequestId;
  readonly method: QuestionMethod;
  readonly params: JsonObject;
}

/** A question as it is stored: the arguments of the tool named after its method. */
export interface AskedQuestion {
  readonly server: string;
  readonly params: JsonObject;
  /** The server's own task that asks. */
  readonly taskId: string | null;
}

/**
 * Tools that ask the user a server's questions. A question that a crash interrupted is asked again. Adds tasks with
 * an answer to `unfetchedAnswers`, if their ids are this client's own. What a callback throws goes to `report`: it is no business of the
 * server.
 */
export function questionTools(
  responders: Responders,
  unfetchedAnswers: Set<string>,
  report: (error: unknown) => void,
): Registry {
  const registry = new Registry();
  const sharedQuestions = new SharedQuestions();
  for (const method of questionMethods) {
    registry.add(method, { onCrash: "resume" }, async (args, task) => {
      const { id, wireId, signal } = task;
      const { server, params, taskId } = readQuestion(args);
      const question = { key: id, method, params, taskId, trace: detailsOf(task).origin?.trace };
      const ask = async (until: AbortSignal): Promise<UserAnswer> => {
        try {
          return await responders.ask(server, question, until);
        } catch (error) {
          until.throwIfAborted();
          report(error);
          return { kind: "cancel_task", error };
        }
      };
      const isNamed = taskId !== null && questionKeyOf(params) !== undefined;
      const answer = isNamed
        ? await sharedQuestions.answer(requestHash(method, server, params, taskId), ask, signal)
        : await ask(signal);
      if (answer.kind === "answer") {
        if (wireId === id) unfetchedAnswers.add(id);
        return { content: [], structuredContent: { answer: answer.result } };
      }
      if (answer.kind === "leave_open") await untilAborted(signal);
      throw new ProtocolError(-32603, "The question could not be answered.");
    });
  }
  return registry;
}

/** The call of the tool that asks a question, which its task runs. */
export type QuestionCall = Pick<TaskCall, "tool" | "origin"> & { readonly arguments: AskedQuestion };

/** The call for a question. `own` are its params without the request for a task, and `taskId` is the server's own task that asks. */
export function questionCall(
  server: string,
  { id, method }: Pick<Question, "id" | "method">,
  own: JsonObject,
  taskId: string | undefined,
): QuestionCall {
  const trace = traceOf(own);
  return {
    tool: method,
    arguments: { server, params: withoutTrace(own), taskId: taskId ?? null },
    origin: {
      requestId: id,
      capabilities: {},
      ...(taskId !== undefined && { askedBy: taskId }),
      ...(trace !== undefined && { trace }),
    },
  };
}

/** A finished task whose result is the user's answer, without the tool result around it. */
export function withAnswer(snapshot: TaskSnapshot): TaskSnapshot {
  const { outcome } = snapshot;
  if (outcome === null || outcome.kind === "error") return snapshot;
  return { ...snapshot, outcome: { ...outcome, body: JSON.stringify(answerIn(outcome.body)) } };
}

function answerIn(body: string): JsonObject {
  const result: unknown = JSON.parse(body);
  const content = isJsonObject(result) ? result["structuredContent"] : undefined;
  const answer = isJsonObject(content) ? content["answer"] : undefined;
  return isJsonObject(answer) ? answer : {};
}

function readQuestion({ server, params, taskId }: JsonObject): AskedQuestion {
  return {
    server: String(server),
    params: isJsonObject(params) ? params : {},
    taskId: typeof taskId === "string" ? taskId : null,
  };
}

/** How many answers are kept for repeated questions. */
const maxAnswers = 100;

interface SharedQuestion {
  readonly answer: Promise<UserAnswer>;
  readonly cancel: AbortController;
  /** How many tasks wait for the answer. */
  waiting: number;
}

/**
 * Questions with keys, which the user is asked once. A server that may have lost an answer repeats its question, in
 * SEP-1686 as another task; all tasks with the same key share one answer.
 */
export class SharedQuestions {
  readonly #open = new Map<string, SharedQuestion>();
  readonly #answers = new BoundedMap<UserAnswer>(maxAnswers);

  /**
   * The answer to the question of that name: the known one, or that of `ask`, which is aborted when no task waits
   * for it any more.
   */
  async answer(
    name: string,
    ask: (signal: AbortSignal) => Promise<UserAnswer>,
    signal: AbortSignal,
  ): Promise<UserAnswer> {
    const known = this.#answers.get(name);
    if (known !== undefined) return known;
    const question = this.#open.get(name) ?? begin(ask);
    this.#open.set(name, question);
    question.waiting += 1;
    try {
      const answer = await unlessAborted(question.answer, signal);
      if (answer.kind === "answer") this.#answers.set(name, answer);
      return answer;
    } finally {
      question.waiting -= 1;
      if (question.waiting === 0) {
        if (this.#open.get(name) === question) this.#open.delete(name);
        question.cancel.abort(signal.reason);
      }
    }
  }
}

function begin(ask: (signal: AbortSignal) => Promise<UserAnswer>): SharedQuestion {
  const cancel = new AbortController();
  const answer = ask(cancel.signal);
  answer.catch(() => undefined); // each waiting task gets the rejection
  return { answer, cancel, waiting: 0 };
}
