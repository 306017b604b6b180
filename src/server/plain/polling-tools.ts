import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { isForPeople } from "../../runtime/questions/open-questions.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { HoldfastError } from "../../task/fault.ts";
import { resultOutcome, statusOf } from "../../task/outcome.ts";
import type { TaskRecord, TaskSnapshot } from "../../task/record.ts";
import type { Answer } from "../answer.ts";
import { toolNotFound } from "../faults.ts";
import type { Rates } from "../rates/rates.ts";
import { isForModel } from "./capabilities.ts";
import { scopeOf, type PlainCall } from "./plain-call.ts";
import type { PlainCalls } from "./plain-calls.ts";
import type { PollingToolKind } from "./plain-policies.ts";
import { definitionOf, faultOfArguments } from "./polling-tool-definitions.ts";
import { answerFor, describeQuestion } from "./question-text.ts";
import { findTask, unfinishedTasks } from "./references.ts";
import { referenceOf, resultCall, statusText } from "./ticket.ts";

/** Answers the polling tools. If a model makes a mistake, the result says how to continue. */
export class PollingTools {
  readonly #runtime: Runtime;
  readonly #calls: PlainCalls;
  readonly #rates: Rates;

  constructor(runtime: Runtime, calls: PlainCalls, rates: Rates) {
    this.#runtime = runtime;
    this.#calls = calls;
    this.#rates = rates;
  }

  /** Rejects with a `HoldfastError`, and with the reason of the call's signal. */
  async answer(kind: PollingToolKind, call: PlainCall): Promise<Answer> {
    const given = call.request.params["arguments"];
    const { names } = this.#calls.policies;
    const name = String(names[kind]);
    // A caller without a scope is not listed this tool, since it is not known which tasks are the caller's.
    if (kind === "list" && scopeOf(call.owner) === undefined) {
      throw toolNotFound(name);
    }
    const fault = await faultOfArguments(definitionOf(kind, names), given);
    if (fault !== undefined) {
      return say(call, `Input validation error: Invalid arguments for tool ${name}: ${fault}`, true);
    }
    const args = isJsonObject(given) ? given : {};
    if (kind === "list") return this.#list(call);
    const { reference } = args;
    const typed = typeof reference === "string" ? reference : "";
    const snapshot = await findTask(this.#runtime, call.owner, typed);
    if (snapshot === undefined) return this.#unknown(typed, call);
    call.request.trace?.about(snapshot.task.id);
    switch (kind) {
      case "result":
        return (await this.#answered(snapshot, args, call)) ?? this.#calls.result(snapshot.task, call);
      case "cancel":
        return this.#cancel(snapshot.task, call);
      case "answer":
        return this.#answer(snapshot, args, call);
    }
  }

  async #cancel(task: TaskRecord, call: PlainCall): Promise<Answer> {
    if (await this.#calls.cancel(task)) return say(call, `${task.tool} was stopped, so there is no result.`);
    return say(call, `${task.tool} had already finished. ${this.#howToGetResult(task)}`);
  }

  async #answer(snapshot: TaskSnapshot, args: JsonObject, call: PlainCall): Promise<Answer> {
    const { task, inputs } = snapshot;
    if (inputs.length === 0) {
      return say(call, `${task.tool} has no open question. ${this.#howToGetResult(task)}`, true);
    }
    const refusal = await this.#answered(snapshot, args, call);
    return refusal ?? this.#calls.ticketOf(await this.#runtime.get(task.id, task), call);
  }

  /**
   * Answers the question that the model names, if there is an answer; resolves with a text if the answer is invalid. Without a name it is
   * the question that the model was shown, if known. A call repeated because its response was lost names a question that is no longer open,
   * and does not answer the next one.
   */
  async #answered(
    { task, inputs }: TaskSnapshot,
    { question: key, answer }: JsonObject,
    call: PlainCall,
  ): Promise<Answer | undefined> {
    const question =
      key === undefined
        ? (inputs.find((input) => isForModel(input, call.capabilities)) ?? inputs[0])
        : inputs.find((input) => input.key === key);
    if (question === undefined || answer === undefined) return undefined;
    if (isForPeople(question)) return say(call, `${notForModels} ${this.#howToGetResult(task)}`, true);
    try {
      const { generation, principal } = task;
      const requestor = { generation, principal, scopes: call.owner.scopes };
      await this.#runtime.answer(task.id, requestor, [answerFor(question, answer)]);
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== "invalid_params") throw error;
      const { text, form } = describeQuestion(question);
      const problem = `That answer was not accepted, and the question is still open. ${error.message}`;
      return say(call, `${problem}\n${text}\nAs the answer, pass ${form}.`, true);
    }
    return undefined;
  }

  async #list(call: PlainCall): Promise<Answer> {
    const tasks = await unfinishedTasks(this.#runtime, call.owner);
    const text = tasks.length === 0 ? "None of your tool calls are running." : lines(tasks).join("\n");
    const { names } = this.#calls.policies;
    const structuredContent = {
      text,
      tasks: tasks.map((task) => ({ ...shown(task), next: resultCall(task, names) })),
    };
    return call.answerOf(resultOutcome({ content: [{ type: "text", text }], structuredContent }));
  }

  async #unknown(typed: string, call: PlainCall): Promise<Answer> {
    this.#rates.missed(call.owner.principal);
    const problem = `No call with the reference ${JSON.stringify(typed)} was found. Check the spelling; results are deleted after a while.`;
    const tasks = await unfinishedTasks(this.#runtime, call.owner);
    if (tasks.length === 0) return say(call, problem, true);
    return say(call, [problem, "Your calls that are still running:", ...lines(tasks)].join("\n"), true);
  }

  #howToGetResult(task: TaskRecord): string {
    const { names } = this.#calls.policies;
    return `To get its result, call ${names.result} with ${JSON.stringify({ reference: referenceOf(task) })}.`;
  }
}

const notForModels =
  "That answer was not accepted, and the question is still open: only people can answer it. The user does so where the client asks them; if it " +
  "cannot, somebody who operates the server has to.";

function say(call: PlainCall, text: string, isError = false): Answer {
  const result = { content: [{ type: "text", text }], ...(isError ? { isError } : {}) };
  return call.answerOf(resultOutcome(result));
}

function lines(tasks: readonly TaskRecord[]): string[] {
  return tasks.map((task) => {
    const far = statusText(task);
    return `- ${referenceOf(task)}: ${task.tool}, ${statusOf(task)}${far === undefined ? "" : ` (${far})`}`;
  });
}

function shown(task: TaskRecord): JsonObject {
  const statusMessage = statusText(task);
  return {
    reference: referenceOf(task),
    tool: task.tool,
    status: statusOf(task),
    ...(statusMessage === undefined ? {} : { statusMessage }),
  };
}
