import type { CallToolResult } from "@modelcontextprotocol/server";
import {
  type GenerationName,
  generations,
  type NewTask,
  type Origin,
  type TaskRecord,
  type TaskRequest,
} from "../../task/record.ts";
import { taskId } from "../../task/record-changes.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { RuntimeSettings } from "../options.ts";
import { requestHash } from "../call-keys.ts";
import type { TaskCall } from "../runtime.ts";
import type { Services } from "../services.ts";
import type { Tool } from "../tool/tool.ts";
import { type CallFailure, isTerminal } from "../../task/outcome.ts";
import { expiresAt } from "../../task/expiry.ts";
import type { JournalEnd, JournalEntry, JournalKey } from "../../task/journal.ts";
import { encodeJson } from "../../task/stored-text.ts";
import { assertMayCall, scopesOfTool } from "../../task/scopes.ts";
import { finishedEntries } from "../journal/claimed-keys.ts";
import type { HeldCommand } from "../journal/piece-writer.ts";
import { parseStored } from "../stored-values.ts";
import { callErrorOf, describeThrown, isError } from "../tool/tool-errors.ts";
import { validateArguments } from "../tool/tool-outcome.ts";
import type { Attempt } from "./attempt.ts";

/** The record and request of a new task. */
export interface FreshTask {
  readonly task: NewTask;
  readonly request: TaskRequest;
}

/** Makes the parts of a new task from its call. */
export function newTask(
  call: TaskCall,
  tool: Tool,
  { options, clock, webhooks }: Pick<Services, "options" | "clock" | "webhooks">,
): FreshTask {
  const { raw, hash } = encodeCall(tool, call);
  if (Buffer.byteLength(raw) > options.maxBodyBytes) {
    throw new HoldfastError(
      "invalid_params",
      `The arguments are larger than ${options.maxBodyBytes} bytes, the most that maxBodyBytes allows.`,
    );
  }
  const id = call.id ?? taskId(clock.now(), (size) => clock.randomBytes(size));
  return {
    task: {
      id,
      wireId: call.wireId ?? id,
      generation: call.generation,
      scope: call.scope ?? "",
      principal: call.principal,
      method: call.method ?? "tools/call",
      tool: tool.name,
      idempotencyKey: call.idempotencyKey ?? null,
      requestHash: hash,
      requiredScopes: call.requiredScopes ?? [],
      ...lifeOf(call, tool, options, clock.now()),
      pollIntervalMs: tool.pollIntervalMs ?? options.pollIntervalMs,
      statusMessage: null,
      // What another task calls is no task to anybody outside.
      ...(webhooks.length > 0 &&
        call.generation !== "child" && { notifies: webhooks.map(({ name }) => name) }),
    },
    request: {
      origin: call.prepareInTask === true ? { ...call.origin, prepareInTask: true } : call.origin,
      arguments: raw,
      prepared: call.prepared ?? null,
    },
  };
}

/**
 * How long the task may run, and how long it is kept. A ttl limits both. Without one, the task must end after `maxRunMs`, and is kept from
 * its end, which is not known in advance.
 */
function lifeOf(
  call: TaskCall,
  tool: Tool,
  options: RuntimeSettings,
  now: number,
): Pick<NewTask, "runUntil" | "expiry"> {
  const runUntil = now + (tool.maxRunMs ?? options.maxRunMs);
  const askedMs = requestedMs(call, options);
  const ownMs = tool.ttlMs === undefined ? options.ttlMs : tool.ttlMs;
  if (call.keepAlive === true) {
    const ms = askedMs ?? (ownMs === undefined ? options.keepMs : ownMs);
    return { runUntil, expiry: { from: "terminal", ms } };
  }
  const boundsTask = askedMs !== undefined && options.requestedTtl === "task";
  const ttlMs = boundsTask ? askedMs : ownMs;
  const keptMs = call.keptMs ?? (boundsTask ? undefined : askedMs);
  if (ttlMs === undefined) {
    const ms = askedMs ?? Math.min(keptMs ?? Infinity, options.keepMs);
    return { runUntil, expiry: { from: "terminal", ms } };
  }
  if (keptMs === undefined) return { runUntil, expiry: { from: "created", ms: ttlMs } };
  if (ttlMs === null) return { runUntil, expiry: { from: "terminal", ms: keptMs } };
  return { runUntil: now + ttlMs, expiry: { from: "terminal", ms: Math.min(keptMs, ttlMs) } };
}

/** What the requestor asked for, within bounds. */
function requestedMs({ ttlMs }: TaskCall, { minTtlMs, maxTtlMs }: RuntimeSettings): number | undefined {
  if (ttlMs === undefined) return undefined;
  if (!Number.isFinite(ttlMs) || ttlMs < 0) {
    throw new HoldfastError("invalid_params", "A ttl must be a number of milliseconds, 0 or more.");
  }
  return Math.min(Math.max(Math.floor(ttlMs), minTtlMs), maxTtlMs);
}

function encodeCall(
  tool: Tool,
  { arguments: args = {}, answers }: TaskCall,
): { readonly raw: string; readonly hash: string } {
  try {
    return {
      raw: JSON.stringify(args),
      hash: requestHash(tool.name, args, ...(answers === undefined ? [] : [answers])),
    };
  } catch (error) {
    const isDeep = isError(error) && error instanceof RangeError;
    const problem = isDeep ? "are nested too deeply" : `cannot be written as JSON: ${describeThrown(error)}`;
    throw new HoldfastError("invalid_params", `The arguments ${problem}.`, { cause: error });
  }
}

/** Of earlier calls, read at a time. */
const atOnce = 500;

/** Each link is a retry by an operator. */
const mostTasks = 100;

function takenUpBy({ takesUp, retryOf }: Origin): string | undefined {
  return takesUp === true ? retryOf : undefined;
}

function placeOf(key: string, hash: string): string {
  return `${hash} ${key}`;
}

/** Maximum number of calls of a task running at the same time. */
const mostOpen = 1_000;

/** The task of a call, and the entries that it begins with. */
interface CalledTask extends FreshTask {
  readonly journal: readonly JournalEntry[];
}

/**
 * Calls other tools of the server for a handler. Each call is a separate task below the handler's, and the handler waits for its end. It takes
 * up one that failed before:
 * - Those count of earlier runs of its handler, and of the tasks that its task takes up, for as long as these are kept.
 * - The newest of a call counts, if its arguments were the same: it has taken up those before it.
 */
export class Calls {
  readonly #attempt: Attempt;
  /** Those that failed before, by place. */
  #failed: Promise<ReadonlyMap<string, string>> | undefined;
  #open = 0;

  constructor(attempt: Attempt) {
    this.#attempt = attempt;
  }

  /** Resolves with the result of the tool. A call that has ended is not repeated. */
  async call(key: JournalKey, name: string, args: unknown): Promise<CallToolResult> {
    const { run } = this.#attempt;
    if (!this.#attempt.isHeld)
      await this.#attempt.becomeTask('it cannot call other tools. Remove task: "forbidden" from it.');
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
      return await this.#attempt.until(wait, resultOf);
    } finally {
      this.#open--;
    }
  }

  #commandFor(key: string, hash: string, child: CalledTask | undefined): HeldCommand<"call_tool"> {
    if (child === undefined) throw new HoldfastError("internal", "The call of a tool has no task.");
    const { services } = this.#attempt;
    const { task, request, journal } = child;
    const endsBy = expiresAt(task.expiry, services.clock.now(), task.runUntil);
    this.#attempt.tell({ type: "calls", child: task.id, endsBy });
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
    const { services, run } = this.#attempt;
    const { task, record, origin } = this.#attempt.held;
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
    const retryOf = await task.persist(() => this.#failedBefore(key, hash));
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

  /** The id of the task of the call, if it failed; `hash` is that of its tool and arguments. */
  async #failedBefore(key: string, hash: string): Promise<string | undefined> {
    const { record, origin } = this.#attempt.held;
    if (record.failures === 0 && takenUpBy(origin) === undefined) return undefined;
    this.#failed ??= this.#readFailed().catch((error: unknown) => {
      this.#failed = undefined; // it is read again
      throw error;
    });
    return (await this.#failed).get(placeOf(key, hash));
  }

  async #readFailed(): Promise<ReadonlyMap<string, string>> {
    const ids = new Map<string, string>();
    const { record, origin } = this.#attempt.held;
    if (record.failures > 0) await this.#readCallsOf(record.id, ids);
    let next = takenUpBy(origin);
    for (let count = 0; next !== undefined && count < mostTasks; count++) {
      await this.#readCallsOf(next, ids);
      const request = await this.#attempt.services.store.request(next);
      next = request && takenUpBy(request.origin);
    }
    return ids;
  }

  async #readCallsOf(parent: string, ids: Map<string, string>): Promise<void> {
    for (let before: string | null | undefined = null; before !== undefined;) {
      const page: readonly TaskRecord[] =
        (await this.#attempt.services.store.admin?.tasks({ of: "children", parent }, before, atOnce)) ?? [];
      for (const child of page) {
        if (!isTerminal(child.state) || child.parent === null) continue;
        const place = placeOf(child.parent.key, child.requestHash);
        if (!ids.has(place)) ids.set(place, child.id);
      }
      before = page.length < atOnce ? undefined : page.at(-1)?.id;
    }
  }
}

function resultOfCall(tool: string, { value, error }: JournalEnd): CallToolResult {
  if (error !== null) throw callErrorOf(tool, parseStored(error) as CallFailure);
  return parseStored(value ?? "null") as CallToolResult;
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
