import type { JSONRPCRequest } from "@modelcontextprotocol/client";
import { asksForTask, taskMethods, generation } from "../../../generation/sep-1686.ts";
import type { Question } from "../../session/receiver/question-tools.ts";
import type { ReceivedTasks, ReceiverParts, Work } from "../../session/receiver/receiver.ts";
import { answerTasksRequest } from "./tasks-requests.ts";
import { runQuestionAsTask, type QuestionContext } from "./run-question-as-task.ts";

/** A server's questions as tasks of SEP-1686, under the server's ids: the question is answered when its task has ended. */
export class SepReceivedTasks implements ReceivedTasks {
  readonly #context: QuestionContext;

  constructor({ requester, server, shared }: ReceiverParts) {
    const { runtime } = shared;
    const requestor = { generation, principal: server };
    this.#context = { runtime, requestor, scope: server, requester, server };
  }

  aboutTask({ method, params = {} }: JSONRPCRequest): Work | undefined {
    const about = taskMethods.find((known) => known === method);
    return about && (async () => answerTasksRequest(about, params, this.#context));
  }

  question(question: Question): Work | undefined {
    if (!asksForTask(question.params)) return undefined;
    return async (signal) => runQuestionAsTask(this.#context, question, signal);
  }
}
