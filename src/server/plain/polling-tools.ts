import { fromJsonSchema, type Tool, type ToolAnnotations } from "@modelcontextprotocol/server";
import { describeIssues } from "../../runtime/tool/schema.ts";
import {
  isForModel,
  type PlainCall,
  type PollingToolKind,
  type PollingToolNames,
  scopeOf,
} from "./plain-policies.ts";
import { isJsonObject, type JsonObject, sameJson } from "../../generation/message.ts";
import { isForPeople } from "../../runtime/questions/questions.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { HoldfastError } from "../../task/fault.ts";
import { resultOutcome, statusOf } from "../../task/outcome.ts";
import type { TaskRecord, TaskSnapshot } from "../../task/record.ts";
import type { Answer } from "../request.ts";
import { toolNotFound } from "../faults.ts";
import type { Rates } from "../rates.ts";
import type { PlainCalls } from "./plain-calls.ts";
import { answerFor, describeQuestion, referenceOf, resultCall, statusText } from "./ticket.ts";
import { findTask, unfinishedTasks } from "../named-tasks.ts";

type JsonSchema = Parameters<typeof fromJsonSchema>[0];

interface Definition {
  readonly description: (names: PollingToolNames) => string;
  readonly inputSchema: JsonSchema;
  readonly annotations: ToolAnnotations;
}

function objectOf(required: Record<string, object>, optional: Record<string, object> = {}): JsonSchema {
  const properties = { ...required, ...optional };
  return { type: "object", properties, required: Object.keys(required), additionalProperties: false };
}

const referenceSchema = {
  type: "string",
  description: "The reference, copied exactly from an earlier response. Never make one up.",
};

const questionSchema = {
  type: "string",
  description: "The name of the question you are answering, copied exactly from the last response.",
};

const answerSchema = {
  anyOf: [{ type: "object" }, { type: "string" }],
  description:
    'An object with the fields that the question asks for, or a string if it asks for a message; or "decline" or "cancel".',
};

const getsResult =
  "Gets the result of an earlier tool call that returned a reference instead of its result. Waits a while for it; if the " +
  "response says that the call is still running, call this again. Do not use it for a call that already returned its " +
  "result, or without a reference.";

/**
 * The polling tools as they are listed. The SDK caches what it compiles from a schema object and never frees it, so all
 * servers share these objects.
 */
const definitions: Readonly<Record<PollingToolKind | "result_and_answer", Definition>> = {
  result: {
    description: ({ list }) =>
      list === undefined
        ? getsResult
        : `${getsResult} If you have lost the reference and have the tool ${list}, look it up there.`,
    inputSchema: objectOf({ reference: referenceSchema }),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  result_and_answer: {
    description: (names) =>
      `${definitions.result.description(names)} If the last response asks a question, pass the answer here, once; ask ` +
      "the user unless you already know it.",
    inputSchema: objectOf({ reference: referenceSchema }, { question: questionSchema, answer: answerSchema }),
    annotations: { destructiveHint: false, openWorldHint: false },
  },
  cancel: {
    description: ({ result }) =>
      "Stops a running tool call that returned a reference. Use it only if the result is no longer wanted: a stopped call " +
      `has no result. To check on a call, use ${result} instead.`,
    inputSchema: objectOf({ reference: referenceSchema }),
    annotations: { destructiveHint: true, idempotentHint: true, openWorldHint: false },
  },
  answer: {
    description: ({ result }) =>
      "Answers a question that a running tool call asks. Use it only if a response shows such a question; ask the user " +
      `unless you already know the answer. Then call ${result}.`,
    inputSchema: objectOf({ reference: referenceSchema, answer: answerSchema }, { question: questionSchema }),
    annotations: { destructiveHint: false, openWorldHint: false },
  },
  list: {
    description: ({ result }) =>
      "Lists your tool calls that are still running, with their references. Use it only if you have lost a reference. " +
      `To wait for a call, use ${result} instead.`,
    inputSchema: objectOf({}),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
};

/** A polling tool as it is listed. Without a tool for answers, that for results takes them. */
export function definitionOf(kind: PollingToolKind, { answer: name }: PollingToolNames): Definition {
  return definitions[kind === "result" && name === undefined ? "result_and_answer" : kind];
}

/** Whether a tool of another server is one of these, under whatever name: whoever has tasks there needs none. */
export function isPollingTool(tool: Pick<Tool, "description" | "inputSchema">): boolean {
  const { properties = {}, required } = tool.inputSchema;
  return Object.values(definitions).some(({ inputSchema, description }) =>
    inputSchema.properties?.["reference"] === undefined
      ? tool.description?.split(".")[0] === description({ result: "", cancel: "" }).split(".")[0]
      : sameJson(
          { properties, required },
          { properties: inputSchema.properties, required: inputSchema.required },
        ),
  );
}

/** The compiled schemas, for the same reason. */
const schemas = new Map<Definition, ReturnType<typeof fromJsonSchema>>();

/** What is wrong with the arguments of a polling tool, in the words of the SDK; undefined if they are valid. */
async function faultOfArguments(definition: Definition, given: unknown): Promise<string | undefined> {
  const schema = schemas.get(definition) ?? fromJsonSchema(definition.inputSchema);
  schemas.set(definition, schema);
  const { issues } = await schema["~standard"].validate(given ?? {});
  return issues === undefined ? undefined : describeIssues(issues);
}

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
    const snapshot = await findTask(this.#runtime, call.owner, typed, call.request.reserve);
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
