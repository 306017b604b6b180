import type {
  CreateMessageRequestParams,
  LoggingLevel,
  Notification,
  Request,
  RequestOptions,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { JournalKey } from "../../task/journal.ts";
import { HoldfastError } from "../../task/fault.ts";
import {
  detailsOf,
  type ReceivedRequest,
  type RunDetails,
  storedMetaKeys,
} from "../../runtime/tool/received-request.ts";
import { textOf } from "../../runtime/plain-data.ts";
import type { ElicitParams } from "../../runtime/questions/form.ts";
import type { QuestionOptions, TaskContext } from "../../runtime/tool/task-context.ts";
import type { DurableContext } from "./registrations.ts";
import type { Origin, ReceivedPart } from "../../task/record.ts";

/** Keys of this form are ours, for questions that a handler asked without a key. */
const form = /^ctx\.\w+ \d+(?: |$)/;

/**
 * The keys of questions that a handler asks through the SDK, without keys: the n-th call of a function has the same key in each attempt.
 * Keys are assigned when the function is called, so that concurrent calls keep their order.
 */
export class AutomaticKeys {
  readonly #counts = new Map<string, number>();

  next(call: string): JournalKey {
    const place = (this.#counts.get(call) ?? 0) + 1;
    this.#counts.set(call, place);
    return `ctx.${call} ${place}`;
  }
}

/** The key of a question that a round of `inputRequired` asks under a name of the author's. */
export function roundKey(round: number, name: string): JournalKey {
  return `ctx.inputRequired ${round} ${name}`;
}

/** Whether a journal has such a question under the key. */
export function isAutomatic(key: string): boolean {
  return form.test(key);
}

/**
 * The SDK context of a handler in a task: its questions and reports go through the task, and survive restarts with it. `inputResponses` are
 * the answers to the questions of its last round.
 */
export function sdkContext(
  task: TaskContext,
  keys: AutomaticKeys,
  inputResponses?: Record<string, unknown>,
): DurableContext {
  const details = detailsOf(task);
  const parts = requestParts(details);
  const ask = <T>(call: string, options: RequestOptions | undefined, begin: Begin<T>): Promise<T> => {
    const asked = async (): Promise<T> => begin(keys.next(call), questionOptions(call, options));
    return handled(asked());
  };
  const elicitInput = (params: ElicitParams, options?: RequestOptions) =>
    ask("elicitInput", options, (key, question) => task.elicit(key, params, question));
  const requestSampling = (params: CreateMessageRequestParams, options?: RequestOptions) =>
    ask("requestSampling", options, (key, question) => task.sample(key, params, question));
  const put = ({ method, params = {} }: Request, options: RequestOptions | undefined): Promise<unknown> => {
    switch (method) {
      case "elicitation/create":
        return elicitInput(params as ElicitParams, options);
      case "sampling/createMessage":
        return requestSampling(params as CreateMessageRequestParams, options);
      case "roots/list":
        return ask("listRoots", options, (key, question) => task.roots(key, question));
      default:
        return Promise.reject(noStream(`send ${method} requests`));
    }
  };
  const send = (request: Request, second?: object, third?: RequestOptions): Promise<never> => {
    // A result of another schema than the protocol's cannot come of a question.
    const hasSchema = second !== undefined && "~standard" in second;
    if (hasSchema) return handled(Promise.reject(noStream("send requests with a result schema of its own")));
    return handled(put(request, third ?? second)) as Promise<never>;
  };
  const mcpReq: DurableContext["mcpReq"] = {
    ...parts.mcpReq,
    id: details.received?.id ?? details.origin?.requestId ?? task.id,
    method: "tools/call",
    ...(inputResponses !== undefined && { inputResponses }),
    requestState: () => undefined,
    signal: task.signal,
    send,
    notify: (notification) => handled(sendNotification(task, notification)),
    log: (level, data, logger) => handled(log(task, level, data, logger)),
    elicitInput,
    requestSampling,
  };
  // No copy, for which each part would be read.
  return Object.assign(parts.context, { task, mcpReq });
}

type Begin<T> = (key: JournalKey, options: QuestionOptions) => Promise<T>;

/** Throws `configuration` for options that would end with the process. */
function questionOptions(
  call: string,
  { timeout, maxTotalTimeout, signal, onprogress }: RequestOptions = {},
): QuestionOptions {
  const given = signal !== undefined ? "signal" : onprogress !== undefined ? "onprogress" : undefined;
  if (given !== undefined) {
    throw new HoldfastError(
      "configuration",
      `ctx.mcpReq.${call} does not take ${given} in a task, because its question stays open across restarts. Use timeout instead.`,
    );
  }
  const timeoutMs = Math.min(timeout ?? Infinity, maxTotalTimeout ?? Infinity);
  return timeoutMs === Infinity ? {} : { timeoutMs };
}

async function sendNotification(task: TaskContext, { method, params = {} }: Notification): Promise<void> {
  switch (method) {
    case "notifications/progress": {
      const { progress, total, message } = params;
      task.progress(progress as number, total as number | undefined, message as string | undefined);
      return;
    }
    case "notifications/message": {
      const { level, data, logger } = params;
      await log(task, level as LoggingLevel, data, logger as string | undefined);
      return;
    }
    default:
      throw noStream(`send ${method}`);
  }
}

/** The SDK's lines have data of any kind, and no text. */
async function log(task: TaskContext, level: LoggingLevel, data: unknown, logger?: string): Promise<void> {
  const said = textOf(data);
  const line = logger === undefined ? said : `${logger}: ${said}`;
  await (typeof data === "string" || data === undefined
    ? task.log(level, line)
    : task.log(level, line, data));
}

function noStream(what: string): HoldfastError {
  return new HoldfastError(
    "no_request",
    `A task has no stream to its client, so its handler cannot ${what}. It can ask questions with ctx.mcpReq.elicitInput or ctx.task, report progress, and log.`,
  );
}

/** A promise that a handler may leave alone, as those of the task's own questions. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** What the SDK's context says about a request. Parts that the request did not have are left out. */
interface RequestParts {
  readonly context: Pick<ServerContext, "sessionId" | "http">;
  readonly mcpReq: Pick<ServerContext["mcpReq"], "_meta" | "envelope">;
}

/**
 * What the SDK tells a handler about the request that called its tool. In the process that received it, everything is there until its task
 * ends. A later process, or another one, has only what is stored: reading a part that the request had, and that is not stored, throws
 * `no_request`.
 */
export function requestParts({ received, origin }: RunDetails): RequestParts {
  const { meta, envelope, isCut = false, sessionId, authInfo, http: req } = received ?? storedOf(origin);
  const gone = (part: ReceivedPart): boolean =>
    received === undefined && origin?.received?.includes(part) === true;
  const web = { ...(authInfo !== undefined && { authInfo }), ...(req !== undefined && { req }) };
  const http = gone("http") ? partly({}, "http") : web;
  const context = gone("http") || Object.keys(web).length > 0 ? { http } : {};
  const _meta = isCut || gone("_meta") ? partly(meta ?? {}, "_meta", storedMetaKeys) : meta;
  const shown = isCut || gone("envelope") ? partly({}, "envelope") : envelope;
  return {
    context: gone("sessionId")
      ? withoutSessionId(context)
      : { ...context, ...(sessionId !== undefined && { sessionId }) },
    mcpReq: { ...(_meta !== undefined && { _meta }), ...(shown !== undefined && { envelope: shown }) },
  };
}

/** What a later process has of a request. */
function storedOf({ progressToken, trace }: Partial<Origin> = {}): Partial<ReceivedRequest> {
  const meta = { ...(progressToken !== undefined && { progressToken }), ...trace };
  return Object.keys(meta).length > 0 ? { meta } : {};
}

/** A member of `known` that is missing was never there. Other members throw, and so does listing all of them. */
function partly<T extends object>(
  stored: T,
  part: Exclude<ReceivedPart, "sessionId">,
  known: readonly string[] = [],
): T {
  const refuse = (): never => {
    throw isGone(names[part], part);
  };
  return new Proxy(stored, {
    has: (target, member) => member in target || (!known.includes(String(member)) && refuse()),
    ownKeys: refuse,
    get(target, member) {
      const isThere = member in target || typeof member !== "string" || known.includes(member);
      if (!isThere) throw isGone(`${names[part]}.${member}`, part);
      return Reflect.get(target, member) as unknown;
    },
  });
}

function withoutSessionId<T extends object>(context: T): T {
  return Object.defineProperty(context, "sessionId", {
    enumerable: true,
    get: () => {
      throw isGone("sessionId", "sessionId");
    },
  });
}

const names = { _meta: "mcpReq._meta", envelope: "mcpReq.envelope", http: "http" } as const;

const instead: Readonly<Record<ReceivedPart, string>> = {
  _meta: "Pass what the handler needs as an argument of the tool",
  envelope: "Pass what the handler needs as an argument of the tool",
  sessionId: "A task outlives its session: ctx.task.id identifies the task, and ctx.task.caller the caller",
  http: "ctx.task.caller says who called, with the claims that authenticate returned: use it to get new credentials",
};

function isGone(what: string, part: ReceivedPart): HoldfastError {
  return new HoldfastError(
    "no_request",
    `ctx.${what} is not available: the server has restarted since the call, another process runs the task, or the request was too large. Requests are kept only in memory, and _meta only up to 16 KiB. ${instead[part]}.`,
  );
}
