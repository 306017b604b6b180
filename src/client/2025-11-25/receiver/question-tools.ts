import { ProtocolError } from "@modelcontextprotocol/client";
import { relatedTaskOf } from "../../../generation/2025-11-25/related-task.ts";
import { isJsonObject, type JsonObject } from "../../../generation/json-object.ts";
import { Registry } from "../../../runtime/tool/registry.ts";
import type { Outcome } from "../../../task/outcome.ts";
import type { ClientTaskMethod } from "../../../generation/2025-11-25/negotiate.ts";
import type { Seats } from "./seats.ts";

/** The requests that a server can have a client run as tasks. */
export const questionMethods: readonly ClientTaskMethod[] = ["elicitation/create", "sampling/createMessage"];

/** What a record keeps of a question, as the arguments of the tool of that name. */
export interface AskedQuestion {
  readonly server: string;
  readonly params: JsonObject;
}

/**
 * The tools that stand for a server's questions: each asks the user. One that a crash interrupts is asked again, for
 * nobody has answered it. `unfetched` is given the tasks that have an answer.
 */
export function questionTools(seats: Seats, unfetched: Set<string>): Registry {
  const registry = new Registry();
  for (const method of questionMethods) {
    registry.add(method, { onCrash: "resume" }, async (args, { id, signal }) => {
      const { server, params } = readQuestion(args);
      const question = { key: id, method, params, taskId: relatedTaskOf(params) ?? null };
      const answer = await seats.ask(server, question, signal);
      if (answer.kind === "answer") {
        unfetched.add(id);
        return { content: [], structuredContent: { answer: answer.result } };
      }
      if (answer.kind === "leave_open") await untilAborted(signal);
      throw new ProtocolError(-32603, "The question could not be answered.");
    });
  }
  return registry;
}

/** A record's outcome without what made it a tool's. */
export function answerIn({ body }: Outcome): JsonObject {
  const result: unknown = JSON.parse(body);
  const content = isJsonObject(result) ? result["structuredContent"] : undefined;
  const answer = isJsonObject(content) ? content["answer"] : undefined;
  return isJsonObject(answer) ? answer : {};
}

function readQuestion({ server, params }: JsonObject): AskedQuestion {
  return { server: String(server), params: isJsonObject(params) ? params : {} };
}

async function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
