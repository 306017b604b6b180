import type { CallToolResult } from "@modelcontextprotocol/server";
import type { CallFailure } from "../../task/outcome.ts";
import { expiresAt } from "../../task/expiry.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { JournalEnd, JournalEntry, JournalKey } from "../../task/journal.ts";
import { encodeJson } from "../../task/stored-text.ts";
import { type Origin, type TaskRecord, generations, type GenerationName } from "../../task/record.ts";
import { scopesOfTool, assertMayCall } from "../../task/scopes.ts";
import { newTask, type FreshTask } from "../dispatch/new-task.ts";
import { finishedEntries } from "../journal/finished-entries.ts";
import type { HeldCommand } from "../journal/held-command.ts";
import type { HeldTask } from "../journal/held-task.ts";
import type { OutsideWaits } from "../journal/outside-waits.ts";
import type { Run } from "../journal/run.ts";
import { requestHash } from "../request-hash.ts";
import type { Services } from "../services.ts";
import { callErrorOf } from "../tool/tool-errors.ts";
import { validateArguments } from "../tool/tool-outcome.ts";
import type { Tool } from "../tool/tool.ts";
import { FailedCalls } from "./failed-calls.ts";

/** Maximum number of calls of a task running at the same time. */
const mostOpen = 1_000;

/** The task of a call, and the entries that it begins with. */
interface CalledTask extends FreshTask {
  readonly journal: readonly JournalEntry[];
}

export interface CallsSetup {
  readonly services: Services;
  readonly run: Run;
  readonly task: Pick<HeldTask, "persist">;
  readonly waits: OutsideWaits;
  readonly record: TaskRecord;
  readonly origin: Origin;
  /** Called before a task is created, with the end of its life (epoch ms). */
  readonly onCalled: (child: string, endsBy: number | null) => void;
}

/** Calls other tools of the server for a handler. Each call is a separate task below the handler's, and the handler waits for its end. */
export class Calls {
  readonly #setup: CallsSetup;
  readonly #failed: FailedCalls;
  #open = 0;

  constructor(setup: CallsSetup) {
    this.#setup = setup;
    this.#failed = new FailedCalls(setup.services.store, setup);
  }

  /** Resolves with the result of the tool. A call that has ended is not repeated. */
  async call(key: JournalKey, name: string, args: unknown): Promise<CallToolResult> {
    const { run, waits } = this.#setup;
    const claimed = run.claim(key);
    encodeJson(args ?? {}, `The arguments of tool "${name}"`); // throws what would come back otherwise
    const hash = requestHash(name, args ?? {});
    const resultOf = (end: JournalEnd): CallToolResult => resultOfCall(name, end);
    const entry = run.find(claimed, { kind: "call", requestHash: hash, request: name });
    if (entry !== undefined && entry.doneAt !== null) return run.replayed(entry, resultOf);
    if (this.#open >= mostOpen) throw tooManyOpen();
    this.#open++;
    try {
      let child: CalledTask | undefined;
      const wait = {
        key: claimed,
        entry,
        command: "call_tool",
        prepare: async () => void (child = await this.#childOf(claimed, name, args)),
        begin: () => this.#commandFor(claimed, hash, child),
      } as const;
      return await waits.until(wait, resultOf);
    } finally {
      this.#open--;
    }
  }

  #commandFor(key: string, hash: string, child: CalledTask | undefined): HeldCommand<"call_tool"> {
    if (child === undefined) throw new HoldfastError("internal", "The call of a tool has no task.");
    const { services, onCalled } = this.#setup;
    const { task, request, journal } = child;
    onCalled(task.id, expiresAt(task.expiry, services.clock.now(), task.runUntil));
    const { cancelGraceMs } = services.options;
    return {
      key,
      requestHash: hash,
      child: task,
      request,
      cancelGraceMs,
      ...(journal.length > 0 && { journal }),
    };
  }

  /** The task to create for a call; throws if the call is invalid. */
  async #childOf(key: string, name: string, args: unknown): Promise<CalledTask> {
    const { services, run, task, record, origin } = this.#setup;
    const { registry, store } = services;
    const tool = registry.handlerOf({ method: "tools/call", tool: name });
    if (tool === undefined) throw wrong(`this server has no tool "${name}"`);
    assertCallable(tool, { origin, generation: record.generation });
    const depth = (origin.depth ?? 0) + 1;
    const { maxCallDepth } = services.options;
    if (depth > maxCallDepth) {
      throw new HoldfastError(
        "limit_reached",
        `Calls between tools can be nested at most ${maxCallDepth} levels deep (maxCallDepth).`,
      );
    }
    const validated = await validateArguments(tool, args ?? {});
    if (!validated.ok) throw new HoldfastError("invalid_params", validated.problem);
    const { capabilities, caller, toolScopes } = origin;
    const stepKeys = requestHash(run.setup.stepKeys, key);
    const hash = requestHash(name, args ?? {});
    const retryOf = await task.persist(() => this.#failed.of(key, hash));
    const journal = retryOf === undefined ? [] : await task.persist(() => finishedEntries(store, retryOf));
    const trace = run.setup.trace?.called(key, name) ?? origin.trace;
    const made = newTask(
      {
        generation: "child",
        principal: record.principal,
        tool: name,
        arguments: args,
        origin: {
          capabilities,
          depth,
          // Those of the same call in another run of this handler, whether as another attempt or as another task.
          stepKeys,
          ...(retryOf !== undefined && { retryOf, takesUp: true as const }),
          ...(caller && { caller }),
          ...(trace && { trace }),
          ...(toolScopes && { toolScopes }),
        },
        requiredScopes: scopesOfTool(origin, name),
        ...(tool.prepare && { prepareInTask: true as const }),
      },
      tool,
      services,
    );
    return { ...made, journal };
  }
}

function resultOfCall(tool: string, { value, error }: JournalEnd): CallToolResult {
  if (error !== null) throw callErrorOf(tool, JSON.parse(error) as CallFailure);
  return JSON.parse(value ?? "null") as CallToolResult;
}

function wrong(problem: string): HoldfastError {
  return new HoldfastError("invalid_params", `The call cannot be made: ${problem}.`);
}

function tooManyOpen(): HoldfastError {
  return new HoldfastError(
    "limit_reached",
    `A task can have at most ${mostOpen} open calls. Wait for some of them, or use task.all, which makes a few at a time.`,
  );
}

/** The task whose handler calls. */
interface CallingTask {
  readonly origin: Origin;
  readonly generation: GenerationName;
}

/** Throws if the handler of a task may not call a tool, under the same rules as for the task's caller. */
export function assertCallable(tool: Tool, { origin, generation }: CallingTask): void {
  if (tool.task === "forbidden") {
    throw new HoldfastError(
      "invalid_params",
      `Tool "${tool.name}" cannot be called from a task, because it never runs as a task (task: "forbidden").`,
    );
  }
  assertMayCall(origin, tool.name);
  const missing = tool.requires.filter((capability) => origin.capabilities[capability] === undefined);
  if (missing.length === 0) return;
  throw new HoldfastError(
    generations[generation].undeclared,
    `Tool "${tool.name}" cannot be called: the client of this task did not declare ${missing.join(", ")}.`,
    { data: { requiredCapabilities: Object.fromEntries(missing.map((name) => [name, {}])) } },
  );
}
