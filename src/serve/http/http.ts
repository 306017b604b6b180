import type { CallToolResult } from "@modelcontextprotocol/server";
import type { TaskContext } from "../../runtime/tool/task-context.ts";
import { HoldfastError } from "../../task/fault.ts";
import { millisecondsOf, type TimeSpan } from "../../task/time.ts";
import type { Finding, SourceTool, ToolSource } from "../source.ts";
import { assertPlaceholders, at, type Scope } from "../template.ts";
import { described, errorResult, jsonResult, type ToolSettings } from "../tool-settings.ts";
import { exchange, statusRequest, type Exchange } from "./exchange.ts";
import { assertUrl, requestOf, type Credentials, type RequestTemplate } from "./request-template.ts";
import { isRefused, jsonOf, refusalText, Sender, shown, type HttpAnswer, type HttpRequest } from "./send.ts";

/** Where in the JSON of an answer the state of a job is, and which states count. */
export interface StateCondition {
  /** A JSON pointer, such as `/state`. */
  readonly pointer: string;
  readonly in: readonly unknown[];
}

/** How an HTTP API is called. Placeholders are the arguments, `{job/…}` for what the first answer has, and `{callback}`. */
export interface HttpSettings extends RequestTemplate {
  /** Where the state of the job is. Default: where `Location` of a 202 says. */
  readonly poll?: {
    readonly url: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly every?: TimeSpan;
  };
  /** When the job has ended. Default: with any answer but 202. */
  readonly done?: StateCondition;
  /** When it has failed, and where its answer says why. */
  readonly failed?: StateCondition & { readonly message?: string };
  /** What the result is: what another address has, or a part of the last answer. Default: all of the last answer. */
  readonly result?: {
    readonly url?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly pointer?: string;
  };
  /** What to send when the task is cancelled. */
  readonly cancel?: RequestTemplate;
  /** Whether the job posts its end to `{callback}`, which stands in the request. Needs `eventsUrl`. Default `false`. */
  readonly callback?: boolean;
  /** The header with the same key for each try of a call. `null`: the service knows none, and a request is not sent twice. Default `Idempotency-Key`. */
  readonly idempotencyHeader?: string | null;
  /** How often a request that fails for a while is sent again. Default 5. */
  readonly retries?: number;
  /** How long each request may take. Default 30 seconds. */
  readonly timeoutMs?: TimeSpan;
  /** Sent to the origin of `url`, and nowhere else. */
  readonly credentials?: Credentials;
  /** Hosts, addresses and ranges outside the public internet that may be reached, as for webhooks. Default: none. */
  readonly allow?: readonly string[];
}

const ofCalls: readonly (keyof HttpSettings)[] = [
  "url",
  "method",
  "query",
  "headers",
  "body",
  "poll",
  "done",
  "failed",
  "result",
  "cancel",
  "callback",
  "idempotencyHeader",
  "retries",
  "timeoutMs",
  "credentials",
  "allow",
];

/** Options of `http`. */
export interface HttpOptions extends ToolSettings, HttpSettings {}

/** What an answer may have in the journal. */
const maxBytes = 1024 * 1024;

const defaultTimeoutMs = 30_000;

/**
 * A tool whose calls are requests to an HTTP API. An API that begins a job and answers later (`202` with `Location`, RFC 7240) is looked at until it is
 * done, through restarts and without a slot; others say with `poll`, `done` and `failed` how their jobs are followed.
 *
 * ```ts
 * http("render", {
 *   inputSchema: { properties: { scene: { type: "string" } }, required: ["scene"] },
 *   method: "POST",
 *   url: "https://api.example.com/renders",
 *   body: { scene: "{scene}" },
 *   poll: { url: "/renders/{job/id}", every: "10s" },
 *   done: { pointer: "/state", in: ["done"] },
 * });
 * ```
 */
export function http(name: string, options: HttpOptions): ToolSource {
  const call = new HttpCall(name, options);
  return {
    name: `http ${name}`,
    async open(host) {
      host.setTools([call.tool]);
      return { close: async () => undefined };
    },
    check: async () => [await call.reach()],
  };
}

class HttpCall {
  readonly tool: SourceTool;
  readonly #name: string;
  readonly #settings: HttpSettings;
  readonly #sender: Sender;

  constructor(name: string, options: HttpOptions) {
    this.#name = name;
    const { url, method, query, headers, body, poll, result, cancel, callback, allow } = options;
    this.#settings = options;
    this.#sender = new Sender(allow);
    const { config, input } = described(options, ofCalls);
    const what = `Tool "${name}"`;
    const taken = input.names.find((each) => each === "job" || each === "callback");
    if (taken !== undefined)
      throw new HoldfastError(
        "configuration",
        `${what}: an argument of an HTTP tool cannot have the name "${taken}", which names something else.`,
      );
    const first = [...input.names, ...(callback === true ? ["callback"] : [])];
    assertPlaceholders(what, [url, query, headers, body], first);
    assertPlaceholders(what, [poll, result, cancel], [...first, "job"]);
    assertUrl(what, url);
    this.tool = {
      name,
      config: {
        ...config,
        annotations: {
          openWorldHint: true,
          ...(method === "GET" && { readOnlyHint: true }),
          ...config.annotations,
        },
      },
      approval: options.approval,
      handler: (args, task) => this.#call(input.withDefaults(args), task),
      preview: (args) => this.#preview(input.withDefaults(args)),
    };
  }

  /** Whether anything answers there. */
  async reach(): Promise<Finding> {
    const check = `http ${this.#name}`;
    const { origin } = new URL(this.#settings.url.replace(/\{[^}]*\}/g, "x"));
    try {
      const { credentials } = this.#settings;
      const request = requestOf({ url: origin }, {}, { base: origin, credentials });
      const { status } = await this.#sender.send(
        { ...request, method: "HEAD" },
        {
          signal: new AbortController().signal,
          maxBytes: 0,
          timeoutMs: 5_000,
        },
      );
      const answer = `${origin} answers (HTTP ${status})`;
      if (status !== 401 && status !== 403) return { check, works: true, detail: answer };
      const sent = credentials === undefined ? "no credentials are set" : "it may not accept the credentials";
      return { check, works: null, detail: `${answer}: ${sent}` };
    } catch (error) {
      return {
        check,
        works: false,
        detail: `${origin} does not answer: ${error instanceof Error ? error.message : String(error)}`,
      };
    }
  }

  #preview(scope: Scope): string {
    const { method, url, headers, body } = requestOf(
      this.#settings,
      { ...scope, callback: "{callback}" },
      { base: this.#settings.url },
    );
    const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}`);
    return [`${method} ${url}`, ...lines, ...(typeof body === "string" ? ["", body] : [])].join("\n");
  }

  async #call(args: Scope, task: TaskContext): Promise<CallToolResult> {
    const { callback, poll, result } = this.#settings;
    const ended = callback === true ? task.waitForEvent<unknown>("callback", "callback") : undefined;
    ended?.catch(() => undefined); // what it rejects with, the task ends with
    const scope: Record<string, unknown> = { ...args, ...(ended && { callback: ended.url }) };
    const begun = Promise.withResolvers<void>();
    const polled = exchange(task, this.#exchangeOf(scope, begun.resolve));
    polled.catch(() => undefined);
    let state: unknown;
    let answer: HttpAnswer | undefined;
    if (ended === undefined) answer = await polled;
    else if (poll !== undefined) {
      const first = await Promise.race([
        polled.then((found) => ({ found })),
        ended.then((value) => ({ value })),
      ]);
      if ("found" in first) answer = first.found;
      else {
        state = first.value;
        await Promise.race([begun.promise, polled.catch(() => undefined)]); // the job may be over before it is named
      }
    } else {
      const named = await polled;
      if (isRefused(named)) answer = named;
      else state = await ended;
    }
    if (answer !== undefined && isRefused(answer)) return errorResult(refusalText(answer));
    state ??= answer && jsonOf(answer);
    const failure = this.#failureOf(state);
    if (failure !== undefined) return errorResult(failure);
    if (result?.url !== undefined) {
      const request = this.#request({ ...result, url: result.url }, scope);
      answer = await exchange(task, { ...this.#common("result"), request: () => request, mayRepeat: true });
      if (isRefused(answer)) return errorResult(refusalText(answer));
      state = jsonOf(answer);
    } else if (callback === true && answer === undefined) return jsonResult(part(state, result?.pointer));
    if (result?.pointer !== undefined) return jsonResult(part(state, result.pointer));
    return answer === undefined ? jsonResult(state) : resultOf(answer, task);
  }

  #exchangeOf(scope: Record<string, unknown>, onBegun: () => void): Exchange {
    const {
      method = "GET",
      idempotencyHeader = "Idempotency-Key",
      poll,
      cancel,
      done,
      failed,
      callback,
    } = this.#settings;
    const isSafe = method === "GET";
    let first: HttpRequest | undefined;
    let hasBegun = false;
    return {
      ...this.#common("http"),
      mayRepeat: isSafe || method === "PUT" || method === "DELETE" || idempotencyHeader !== null,
      request: (key) => {
        const known = isSafe || idempotencyHeader === null ? {} : { [idempotencyHeader.toLowerCase()]: key };
        const request = this.#request(this.#settings, scope);
        first = { ...request, headers: { prefer: "respond-async", ...known, ...request.headers } };
        return first;
      },
      async prepare(answer) {
        if (!hasBegun) scope["job"] = jsonOf(answer);
        hasBegun = true;
        onBegun();
      },
      next: (answer, from) => {
        if (isRefused(answer)) return undefined;
        const pointed = statusRequest(answer, from);
        if (from !== first) return answer.status === 303 ? pointed : undefined;
        if (poll !== undefined) return this.#request({ ...poll, method: "GET" }, scope);
        return callback === true ? undefined : pointed;
      },
      isDone: (answer) => {
        if (answer.status === 202) return false;
        if (isRefused(answer) || done === undefined) return true;
        const state = jsonOf(answer);
        return holds(done, state) || (failed !== undefined && holds(failed, state));
      },
      every: poll?.every === undefined ? undefined : millisecondsOf(poll.every),
      ...(cancel && { cancel: () => this.#request(cancel, scope) }),
    };
  }

  #common(key: string): Pick<Exchange, "sender" | "key" | "retries" | "maxBytes" | "timeoutMs"> {
    const { retries = 5, timeoutMs = defaultTimeoutMs } = this.#settings;
    return { sender: this.#sender, key, retries, maxBytes, timeoutMs: millisecondsOf(timeoutMs) };
  }

  /** With the credentials, where it is for the origin of the tool's own address. */
  #request(template: RequestTemplate, scope: Scope): HttpRequest {
    const { url, credentials } = this.#settings;
    return requestOf(template, scope, { base: requestOf({ url }, scope, { base: url }).url, credentials });
  }

  #failureOf(state: unknown): string | undefined {
    const { failed } = this.#settings;
    if (failed === undefined || !holds(failed, state)) return undefined;
    const message = failed.message === undefined ? undefined : at(state, failed.message);
    const why = typeof message === "string" ? message : JSON.stringify(message ?? state);
    return `The job of ${this.#name} has failed: ${why}`;
  }
}

function holds(condition: StateCondition, state: unknown): boolean {
  const found = at(state, condition.pointer);
  return condition.in.includes(found);
}

function part(state: unknown, pointer = ""): unknown {
  return at(state, pointer) ?? null;
}

async function resultOf(answer: HttpAnswer, task: TaskContext): Promise<CallToolResult> {
  const { headers, text = "", bytes, isLarge, url } = answer;
  if (isLarge === true)
    return errorResult(`The answer of ${shown(url)} has more than ${maxBytes} bytes, and was not read.`);
  if (bytes !== undefined) {
    const mimeType = headers["content-type"]?.split(";")[0]?.trim() ?? "application/octet-stream";
    if (mimeType.startsWith("image/"))
      return { content: [{ type: "image", data: Buffer.from(bytes).toString("base64"), mimeType }] };
    return { content: [await task.artifact("result", bytes, { mimeType })] };
  }
  const json = jsonOf(answer);
  return json === undefined ? { content: [{ type: "text", text }] } : jsonResult(json);
}
