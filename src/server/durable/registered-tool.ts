import { isDeepStrictEqual } from "node:util";
import {
  McpServer,
  type RegisteredTool,
  isInputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
  type InputRequest,
  type InputRequiredResult,
  type ServerContext,
} from "@modelcontextprotocol/server";
import {
  isRepeatable,
  saysWhatCrashDoes,
  type DurableTool,
  type ToolHandler,
} from "../../runtime/tool/tool.ts";
import { definedOf } from "../../options/options.ts";
import type { Tasks } from "../tasks.ts";
import {
  type FactoryRun,
  type LeftTool,
  registerPlainly,
  type Registration,
  settingsOf,
  type TaskSettings,
  wrongTool,
} from "./registrations.ts";
import { HoldfastError } from "../../task/fault.ts";
import { inputMethods, type JournalKey } from "../../task/journal.ts";
import { interrupted } from "../../runtime/dispatch/recovery.ts";
import { NonRetryableError } from "../../runtime/tool/tool-errors.ts";
import { detailsOf, readsRequests } from "../../runtime/tool/received-request.ts";
import type { TaskContext } from "../../runtime/tool/task-context.ts";
import { AutomaticKeys, isAutomatic, roundKey, sdkContext } from "./sdk-context.ts";

type Changes = Parameters<RegisteredTool["update"]>[0];

const shown = [
  "title",
  "description",
  "inputSchema",
  "outputSchema",
  "annotations",
  "icons",
  "_meta",
] as const;

/** What the SDK makes of a registration. */
type Made = Pick<RegisteredTool, (typeof shown)[number] | "handler" | "executor">;

/** A tool of an author's `registerTool`, as the process has it. */
export class RegisteredDurableTool {
  readonly #name: string;
  readonly #settings: Omit<TaskSettings, "mode">;
  readonly #tool: DurableTool;
  /** From a server that is never connected. Its members show the tool's current state; its functions are never called. */
  readonly #made: RegisteredTool;
  #isRemoved = false;

  /** Throws `configuration` for what cannot be a tool, or no durable one. */
  constructor(tasks: Pick<Tasks, "tool">, registration: Registration) {
    const { name, config } = registration;
    const { mode = "optional", ...settings } = settingsOf(name, config.task);
    assertNoScopeChallenge(name, config["scopeChallenge"]);
    this.#name = name;
    this.#settings = settings;
    this.#made = made(registration);
    // A handler that was not written for it does not run again where nothing has failed.
    // Of a crash it is warned here, and not when it runs.
    const taskConfig = { park: false, onCrash: "auto" as const, ...settings, task: mode };
    const { handler, ...parts } = this.#partsOf(this.#made);
    if (!this.#isDecided(this.#made)) process.emitWarning(undecided(name), "HoldfastWarning");
    const tool = tasks.tool(name, { ...parts, ...taskConfig }, handler) as DurableTool;
    this.#tool = tool;
    Object.defineProperty(this.#made, "enabled", { get: () => tool.enabled });
  }

  /**
   * What `registerTool` returns in a run of the factory. What the factory of a client does with it is noted, to be compared: the first run has
   * done so. Later, only a server that is not one of many can change what all clients have.
   */
  reference(run: FactoryRun, left: LeftTool): RegisteredTool {
    const update = (changes: Changes): void => {
      assertChanges(this.#name, changes);
      if (!run.isOver) {
        left.isEnabled = changes.enabled ?? left.isEnabled;
        left.isRemoved ||= changes.name === null;
      }
      if (run.isFirst || (run.isOver && !run.isForOneOfMany)) this.#change(changes);
      else if (run.isOver && !this.#isAlready(changes)) throw wrongTool(this.#name, sameForAll);
    };
    const reference = Object.create(this.#made) as RegisteredTool;
    return Object.assign(reference, {
      update,
      enable: () => update({ enabled: true }),
      disable: () => update({ enabled: false }),
      remove: () => update({ name: null }),
    });
  }

  /** Throws `configuration`, with nothing changed, for what the tool cannot be. */
  #change({ name, enabled, ...changes }: Changes): void {
    if (name === null) {
      this.#isRemoved = true;
      this.#tool.remove();
      return;
    }
    if (Object.values(changes).some((change) => change !== undefined)) this.#remake(changes);
    if (enabled === true) this.#tool.enable();
    if (enabled === false) this.#tool.disable();
  }

  #remake({ callback, paramsSchema, scopeChallenge: _, ...changes }: Changes): void {
    const before = this.#made;
    const given = Object.entries({ ...changes, inputSchema: paramsSchema }).filter(
      ([, to]) => to !== undefined,
    );
    const config = { ...before, ...Object.fromEntries(given), task: undefined };
    const next = made({ name: this.#name, config, handler: callback ?? before.handler });
    this.#tool.update(this.#partsOf(next));
    Object.assign(before, definedOf(next, shown), { handler: next.handler, executor: next.executor });
    Object.assign(before, { outputSchemaJson: next.outputSchemaJson });
  }

  /** Whether the tool would be the same after the changes. */
  #isAlready({ name, enabled, callback, paramsSchema, scopeChallenge: _, ...changes }: Changes): boolean {
    if (name === null) return this.#isRemoved;
    const wanted = { ...changes, handler: callback, inputSchema: paramsSchema };
    const now = new Map<string, unknown>(Object.entries({ ...this.#made }));
    return (
      (enabled ?? this.#tool.enabled) === this.#tool.enabled &&
      Object.entries(wanted).every(([member, to]) => to === undefined || isSame(to, now.get(member)))
    );
  }

  /** Whether its author has said what a crash does to a handler that has not used its task. */
  #isDecided(tool: Made): boolean {
    return saysWhatCrashDoes({ ...this.#settings, ...tool }) || this.#settings.park === true;
  }

  #mayRepeat(tool: Made): boolean {
    const { onCrash, park, retry } = this.#settings;
    return isRepeatable(tool) || onCrash === "resume" || park === true || retry !== undefined;
  }

  #partsOf(tool: Made) {
    const { executor } = tool;
    const mayRepeat = this.#mayRepeat(tool);
    const handler = toolHandler(this.#name, (args, ctx) => executor(args, ctx), mayRepeat);
    return { ...definedOf(tool, shown), handler };
  }
}

/** Says what a crash does, and how to choose. */
function undecided(name: string): string {
  return `If the server stops or dies while the handler of tool "${name}" runs and has not used ctx.task, its task fails: nobody knows what the handler has done. To run it again from the top instead, set task: { onCrash: "resume" }, or mark the tool with idempotentHint or readOnlyHint. To keep it so, set task: { onCrash: "auto" }.`;
}

/** As the SDK makes a registration on any server. */
function made(registration: Registration): RegisteredTool {
  return registerPlainly(new McpServer({ name: "holdfast", version: "0" }), registration);
}

/** Schemas and functions are what they are; the rest is JSON. */
function isSame(a: unknown, b: unknown): boolean {
  const isJson = typeof a !== "object" || a === null || !("~standard" in a);
  return a === b || (isJson && isDeepStrictEqual(a, b));
}

function assertChanges(name: string, changes: Changes): void {
  if (typeof changes !== "object" || changes === null) {
    throw wrongTool(
      name,
      'was updated without changes: pass an object of them, such as update({ description: "…" })',
    );
  }
  assertNoScopeChallenge(name, changes.scopeChallenge ?? undefined);
  if (typeof changes.name === "string" && changes.name !== name) {
    throw wrongTool(
      name,
      `cannot be renamed to "${changes.name}": its tasks are stored under its name. Register both, and disable the old one`,
    );
  }
}

function assertNoScopeChallenge(name: string, scopeChallenge: unknown): void {
  if (scopeChallenge === undefined) return;
  throw wrongTool(
    name,
    "has a scopeChallenge, which does not work for tools that run as tasks: set its scopes in oauthResource instead",
  );
}

const sameForAll =
  "is shared by all clients, but this reference to it is from the server of one client: use the reference from the first call of the function given to durable(), which has no client";

/** A handler that was written for the SDK, with or without arguments. */
export type SdkHandler = (args: unknown, ctx: ServerContext) => Promise<CallToolResult | InputRequiredResult>;

/**
 * The handler of a durable tool: runs `handler` of the SDK with the context of a task. One that has only asked its client, and has used
 * nothing of the task itself, does not know that it may run again: unless `mayRepeat`, its task fails after a restart, as that of a handler
 * without any step does.
 */
export function toolHandler(name: string, handler: SdkHandler, mayRepeat: boolean): ToolHandler<unknown> {
  return readsRequests(async (args: unknown, task: TaskContext): Promise<CallToolResult> => {
    if (!mayRepeat && hasOnlyAsked(task)) {
      throw new ProtocolError(ProtocolErrorCode.InternalError, interrupted(name));
    }
    const keys = new AutomaticKeys();
    let answers: Record<string, unknown> | undefined;
    for (let round = 1; ; round++) {
      const returned = await handler(args, sdkContext(task, keys, answers)).catch(rethrow);
      if (!isInputRequiredResult(returned)) return returned;
      answers = await answersTo(name, task, round, returned);
    }
  });
}

/** The SDK turns what a handler throws into a result, even a protocol error, with one exception. */
function rethrow(error: unknown): never {
  const isResult =
    ProtocolError.isInstance(error) && error.code !== Number(ProtocolErrorCode.UrlElicitationRequired);
  throw isResult ? new NonRetryableError(error.message, { cause: error }) : error;
}

function hasOnlyAsked(task: TaskContext): boolean {
  const { entries = [] } = detailsOf(task);
  return entries.length > 0 && entries.every(({ key }) => isAutomatic(key));
}

/** Asks what a round of the handler wants to know: the client of a task makes no further calls for that. */
async function answersTo(
  name: string,
  task: TaskContext,
  round: number,
  { inputRequests = {}, requestState }: InputRequiredResult,
): Promise<Record<string, unknown>> {
  const questions = Object.entries(inputRequests);
  if (requestState !== undefined || questions.length === 0) {
    throw new HoldfastError(
      "configuration",
      `Tool "${name}" returned inputRequired with ${requestState === undefined ? "no questions" : "requestState"}, which has no effect in a task. Ask with inputRequests, and keep state in the steps of ctx.task.`,
    );
  }
  return Object.fromEntries(
    await Promise.all(
      questions.map(async ([key, request]): Promise<[string, unknown]> => [
        key,
        await answerTo(name, task, roundKey(round, key), request),
      ]),
    ),
  );
}

function answerTo(name: string, task: TaskContext, key: JournalKey, request: InputRequest): Promise<unknown> {
  switch (request.method) {
    case "elicitation/create":
      return task.elicit(key, request.params);
    case "sampling/createMessage":
      return task.sample(key, request.params);
    case "roots/list":
      return task.roots(key);
    default: {
      // Without an answer to wait for, its rounds would never let anything else run.
      const { method } = request as { readonly method?: unknown };
      throw new HoldfastError(
        "configuration",
        `Tool "${name}" returned inputRequired with a request ${JSON.stringify(method)}, which no client answers. Ask with one of ${inputMethods.join(", ")}.`,
      );
    }
  }
}
