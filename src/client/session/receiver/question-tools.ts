import { ProtocolError } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject } from "../../../generation/json-object.ts";
import { questionKeyOf } from "../../../generation/question-key.ts";
import { requestHash } from "../../../runtime/request-hash.ts";
import { Registry } from "../../../runtime/tool/registry.ts";
import type { TaskSnapshot } from "../../../task/snapshot.ts";
import type { UserAnswer } from "../../question/ask-user.ts";
import { NamedAskings } from "./named-askings.ts";
import type { Seats } from "./seats.ts";

/** The requests that a server can have a client run as tasks. */
export const questionMethods = ["elicitation/create", "sampling/createMessage"] as const;

export type QuestionMethod = (typeof questionMethods)[number];

/** What a record keeps of a question, as the arguments of the tool of that name. */
export interface AskedQuestion {
  readonly server: string;
  readonly params: JsonObject;
  /** The server's own task that asks. */
  readonly taskId: string | null;
}

/**
 * The tools that stand for a server's questions: each asks the user. One that a crash interrupts is asked again, for
 * nobody has answered it. `unfetched` is given the tasks that have an answer, where their ids were made here.
 */
export function questionTools(seats: Seats, unfetched: Set<string>): Registry {
  const registry = new Registry();
  const askings = new NamedAskings();
  for (const method of questionMethods) {
    registry.add(method, { onCrash: "resume" }, async (args, { id, wireId, signal }) => {
      const { server, params, taskId } = readQuestion(args);
      const question = { key: id, method, params, taskId };
      const ask = async (until: AbortSignal): Promise<UserAnswer> => seats.ask(server, question, until);
      const isNamed = taskId !== null && questionKeyOf(params) !== undefined;
      const answer = isNamed
        ? await askings.answer(requestHash(method, server, params, taskId), ask, signal)
        : await ask(signal);
      if (answer.kind === "answer") {
        if (wireId === id) unfetched.add(id);
        return { content: [], structuredContent: { answer: answer.result } };
      }
      if (answer.kind === "leave_open") await untilAborted(signal);
      throw new ProtocolError(-32603, "The question could not be answered.");
    });
  }
  return registry;
}

/** A finished task with the user's answer for its result, without what made that a tool's. */
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

async function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
