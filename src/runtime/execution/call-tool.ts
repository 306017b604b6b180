import type { CallToolResult } from "@modelcontextprotocol/server";
import { expiresAt } from "../../task/expiry.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { JournalEnd, JournalHead, JournalKey } from "../../task/journal.ts";
import type { Origin, TaskRecord } from "../../task/record.ts";
import { newTask } from "../dispatch/new-task.ts";
import type { HeldTask } from "../journal/held-task.ts";
import type { Run } from "../journal/run.ts";
import { requestHash } from "../request-hash.ts";
import type { Services } from "../services.ts";
import { validateArguments } from "../tool/tool-outcome.ts";
import type { Tool } from "../tool/tool.ts";

/** How many tasks may be above a task. */
const deepest = 16;
/** How many of its calls may be under way at the same time. */
const mostOpen = 1_000;

export interface CallsSetup {
  readonly services: Services;
  readonly run: Run;
  readonly task: HeldTask;
  readonly record: TaskRecord;
  readonly origin: Origin;
  /** Hears of a task that was made, before it can have begun here; `endsBy` is its end of life (epoch ms). */
  readonly onCalled: (child: string, tool: Tool, endsBy: number | null) => void;
}

/** Calls other tools of the server for a handler: each call is a task of its own, below the handler's, and the handler waits for its end. */
export class Calls {
  readonly #setup: CallsSetup;
  #open = 0;

  constructor(setup: CallsSetup) {
    this.#setup = setup;
  }

  /** Resolves with the result of the tool; a call that has ended is not made again. */
  async call(key: JournalKey, name: string, args: unknown): Promise<CallToolResult> {
    const { run } = this.#setup;
    const claimed = run.claim(key);
    const hash = requestHash(name, args ?? {});
    const entry = run.find(claimed);
    if (entry !== undefined) assertSameCall(entry, name, hash);
    if (entry !== undefined && entry.doneAt !== null) return run.replayed(entry, resultOf);
    if (this.#open >= mostOpen) throw tooManyOpen();
    this.#open++;
    try {
      const isNew = entry === undefined;
      const child = await run.beginWait(isNew, isNew ? () => this.#childOf(name, args) : undefined);
      return resultOf(await run.whileWaiting(() => this.#put(claimed, hash, child)));
    } finally {
      this.#open--;
    }
  }

  /** What is to be made for a call; throws what is wrong with it. */
  async #childOf(name: string, args: unknown): Promise<Child> {
    const { services, record, origin } = this.#setup;
    const { registry, options, clock } = services;
    const tool = registry.get(name);
    if (tool === undefined) throw wrong(`there is no tool "${name}" here`);
    if (tool.task === "forbidden") throw wrong(`tool "${name}" never runs as a task (task: "forbidden")`);
    const depth = (origin.depth ?? 0) + 1;
    if (depth > deepest) {
      throw new HoldfastError("limit_reached", `Tools call each other at most ${deepest} deep.`);
    }
    const validated = await validateArguments(tool, args ?? {});
    if (!validated.ok) throw new HoldfastError("invalid_params", validated.problem);
    const { capabilities, caller, trace, toolScopes } = origin;
    const made = newTask(
      {
        generation: "child",
        principal: record.principal,
        tool: name,
        arguments: args,
        origin: {
          capabilities,
          depth,
          ...(caller && { caller }),
          ...(trace && { trace }),
          ...(toolScopes && { toolScopes }),
        },
        ...(tool.prepare && { prepareInTask: true as const }),
      },
      tool,
      options,
      clock,
    );
    return { tool, ...made };
  }

  async #put(key: string, hash: string, child: Child | undefined): Promise<JournalEnd> {
    const { run, task, services, onCalled } = this.#setup;
    run.signal.throwIfAborted();
    const end = task.journal.awaitEnd(key);
    const onAbort = (): void => end.reject(run.signal.reason as Error);
    end.promise.catch(() => undefined); // the write below may reject first
    run.signal.addEventListener("abort", onAbort, { once: true });
    try {
      if (child !== undefined) {
        const { task: made, request, tool } = child;
        const { cancelGraceMs } = services.options;
        const call = { key, requestHash: hash, child: made, request, cancelGraceMs };
        await task.journal.opening(key, task.writeWithRest("call_tool", call));
        onCalled(made.id, tool, expiresAt(made.expiry, services.clock.now(), made.runUntil));
      }
      return await end.promise;
    } finally {
      run.signal.removeEventListener("abort", onAbort);
    }
  }
}

type Child = ReturnType<typeof newTask> & { readonly tool: Tool };

function resultOf({ value, error }: JournalEnd): CallToolResult {
  if (error !== null) throw new Error(error);
  return JSON.parse(value ?? "null") as CallToolResult;
}

function assertSameCall(entry: JournalHead, name: string, hash: string): void {
  if (entry.kind === "call" && entry.requestHash === hash) return;
  const other = entry.kind === "call" ? "call of a tool, or one with other arguments," : entry.kind;
  throw new HoldfastError(
    "replay_mismatch",
    `The journal has another ${other} under the key "${entry.key}" than the handler makes now of "${name}". Give a changed call a new key.`,
  );
}

function wrong(problem: string): HoldfastError {
  return new HoldfastError("invalid_params", `The call cannot be made: ${problem}.`);
}

function tooManyOpen(): HoldfastError {
  return new HoldfastError(
    "limit_reached",
    `A task has at most ${mostOpen} calls under way. Wait for some of them, or use task.all, which makes a few at a time.`,
  );
}
