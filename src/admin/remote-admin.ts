import { HoldfastError } from "../task/fault.ts";
import { parametersOf } from "./endpoint.ts";
import { invalid, methodsOf, type Input, type Operation, isAdminFault } from "./operation.ts";
import { acts, reads, type Admin, type AdminActs, type AdminReads } from "./operations.ts";
import { createParser } from "eventsource-parser";
import type { TaskChanges } from "./admin.ts";

/**
 * The `Admin` of a server, through its admin endpoint. The endpoint records actions under its own name for the token, whatever name you
 * pass to `as`. Rejects as the server's own `Admin` does, with `unauthenticated` and `insufficient_scope` for a token that is not accepted
 * or may only read, and with `store_failed` if the server does not answer. Throws `configuration` for an invalid URL or token.
 *
 * ```ts
 * const admin = remoteAdmin("https://reports.example.com/admin", { token });
 * const { tasks } = await admin.list({ states: ["failed"], tool: "publish_report" });
 * ```
 */
export function remoteAdmin(url: string, options: RemoteAdminOptions): Admin {
  const endpoint = new Endpoint(url, options);
  const run = (operation: Operation, input: Input, signal?: AbortSignal): unknown => {
    const path = pathOf(operation, input);
    if (operation.isStream === true) return endpoint.follow(path, signal);
    if (operation.method === "POST") return endpoint.ask("POST", path, bodyOf(operation, input));
    return endpoint.ask(operation.method, `${path}${queryOf(operation, input)}`);
  };
  const actor = methodsOf<AdminActs>(acts, run);
  return { ...methodsOf<AdminReads>(reads, run), as: () => actor };
}

function pathOf({ path }: Operation, input: Input): string {
  return path.slice(1).replaceAll(/\{(\w+)\}/g, (_, name: string) => segment(name, String(input[name])));
}

/** URLs drop these segments, encoded or not. */
function segment(name: string, value: string): string {
  if (value !== "" && value !== "." && value !== ".." && value.isWellFormed())
    return encodeURIComponent(value);
  if (name === "id") throw new HoldfastError("unknown_task", `There is no task ${value}.`);
  throw invalid(`The name ${JSON.stringify(value)} cannot be sent in a URL.`);
}

function bodyOf({ path }: Operation, input: Input): object {
  return Object.fromEntries(Object.entries(input).filter(([name]) => !path.includes(`{${name}}`)));
}

function queryOf(operation: Operation, input: Input): string {
  const search = new URLSearchParams();
  for (const { name, of, isNull = false } of parametersOf(operation)) {
    const value = input[of];
    if (value === undefined || (value === null) !== isNull) continue;
    const values: readonly unknown[] = Array.isArray(value) ? value : [isNull ? true : value];
    if (values.length === 0) throw invalid(`${of} is empty. Leave it out to select all ${of}.`);
    for (const each of values) search.append(name, String(each));
  }
  return search.size === 0 ? "" : `?${search.toString()}`;
}

/** Options of `remoteAdmin`. */
export interface RemoteAdminOptions {
  /** The operator's bearer token. Required unless `fetch` authenticates in another way, such as with a cookie. */
  readonly token?: string;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** Aborts running requests, and all later ones; they reject with its reason. */
  readonly signal?: AbortSignal;
}

/** An admin endpoint, as a client uses it. */
export class Endpoint {
  readonly #base: string;
  readonly #authorization: Readonly<Record<string, string>>;
  readonly #fetch: typeof fetch;
  readonly #signal: AbortSignal | undefined;

  constructor(url: string, { token, fetch: given, signal }: RemoteAdminOptions) {
    this.#base = baseOf(url);
    if (token === undefined && given === undefined)
      throw new HoldfastError("configuration", "An admin endpoint needs a token.");
    // A header allows no other characters, and the platform would quote the token in its error.
    if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
      throw new HoldfastError("configuration", "A token may contain only visible ASCII characters.");
    this.#authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    this.#fetch = given ?? fetch;
    this.#signal = signal;
  }

  async *follow(path: string, signal: AbortSignal | undefined): AsyncGenerator<TaskChanges, void, undefined> {
    const given = [this.#signal, signal].filter((each) => each !== undefined);
    const open = (link: AbortSignal): Promise<ReadableStream<Uint8Array>> => this.#stream(path, link);
    yield* remoteChanges(open, given.length === 0 ? undefined : AbortSignal.any(given));
    this.#signal?.throwIfAborted();
  }

  /** Resolves with the endpoint's answer. */
  async ask(method: string, path: string, body?: object): Promise<unknown> {
    const { status, ok, text } = await this.#answer(method, path, body);
    if (status === 204) return undefined;
    const answer = jsonOf(text);
    if (answer === undefined) throw this.#notAnEndpoint(status);
    if (!ok) throw this.#refusal(status, answer);
    return answer;
  }

  /** Reads the whole answer. */
  async #answer(
    method: string,
    path: string,
    body: object | undefined,
  ): Promise<{ readonly status: number; readonly ok: boolean; readonly text: string }> {
    const json = { Accept: "application/json" };
    const given =
      body === undefined
        ? { headers: json }
        : { headers: { ...json, "Content-Type": "application/json" }, body: JSON.stringify(body) };
    return this.#translateErrors(async () => {
      const response = await this.#request(path, { method, signal: this.#signal ?? null, ...given });
      return { status: response.status, ok: response.ok, text: await response.text() };
    });
  }

  async #stream(path: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const headers = { Accept: "text/event-stream" };
    const response = await this.#translateErrors(() =>
      this.#request(path, { method: "GET", signal, headers }),
    );
    const { ok, status, body } = response;
    if (!ok) throw this.#refusal(status, jsonOf(await response.text()));
    const type = response.headers.get("content-type");
    if (body === null || type?.startsWith("text/event-stream") !== true) throw this.#notAnEndpoint(status);
    return body;
  }

  #request(
    path: string,
    init: Omit<RequestInit, "headers"> & { readonly headers: Readonly<Record<string, string>> },
  ): Promise<Response> {
    const ask = this.#fetch; // unbound: a browser's `fetch` is not our method
    const headers = { ...this.#authorization, ...init.headers };
    // The token is for this endpoint, not for the target of a redirect.
    return ask(`${this.#base}/${path}`, { ...init, headers, redirect: "manual" });
  }

  async #translateErrors<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (cause) {
      this.#signal?.throwIfAborted();
      const message = `The admin endpoint ${this.#base} did not answer: ${reasonOf(cause)}`;
      throw new HoldfastError("store_failed", message, { cause });
    }
  }

  #refusal(status: number, answer: unknown): HoldfastError {
    const error = member(answer, "error");
    const [code, message] = [member(error, "code"), member(error, "message")];
    if (!isAdminFault(code) || typeof message !== "string") return this.#notAnEndpoint(status);
    return new HoldfastError(code, message);
  }

  #notAnEndpoint(status: number): HoldfastError {
    if (status >= 500)
      return new HoldfastError("store_failed", `The admin endpoint ${this.#base} answered HTTP ${status}.`);
    return new HoldfastError(
      "configuration",
      `${this.#base} is not an admin endpoint: it answered HTTP ${status}.`,
    );
  }
}

function baseOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol))
    throw new HoldfastError(
      "configuration",
      "The URL of an admin endpoint must be a web address such as https://reports.example.com/admin.",
    );
  if (parsed.username !== "" || parsed.password !== "" || parsed.search !== "" || parsed.hash !== "")
    throw new HoldfastError(
      "configuration",
      "The URL of an admin endpoint must not contain a password, query or fragment.",
    );
  return `${parsed.origin}${parsed.pathname.replace(/\/+$/, "")}`;
}

/** Undefined for invalid JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}

/** A failed connection has its reason in the error's cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message !== "" ? error.cause.message : error.message;
}

/** An endpoint without news sends a keep-alive every 15 seconds. After this long without one it counts as gone. */
const silentMs = 45_000;

/** The pause before the next try if the endpoint names none, and the longest one (ms). */
const usualRetryMs = 1_000;

const longestRetryMs = 30_000;

/** Starts reading an endpoint's stream, until its signal aborts. Rejects as any other request does. */
export type OpenStream = (signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>;

/**
 * An endpoint's changes, over as many streams as it takes. Each stream first reports that any task may have changed. Rejects if the
 * endpoint refuses.
 */
export async function* remoteChanges(
  open: OpenStream,
  signal: AbortSignal | undefined,
): AsyncGenerator<TaskChanges, void, undefined> {
  let retryMs = usualRetryMs;
  const onRetry = (ms: number): void => void (retryMs = ms);
  const isOver = (): boolean => signal?.aborted === true;
  for (let failures = 0; !isOver(); failures++) {
    try {
      for await (const changes of oneStream(open, signal, onRetry)) {
        failures = 0;
        yield changes;
      }
    } catch (error) {
      if (isOver()) return;
      if (!mayAnswerLater(error)) throw error;
    }
    if (!isOver()) await pause(Math.min(retryMs * 2 ** failures, longestRetryMs), signal);
  }
}

async function* oneStream(
  open: OpenStream,
  signal: AbortSignal | undefined,
  onRetry: (ms: number) => void,
): AsyncGenerator<TaskChanges, void, undefined> {
  const link = new AbortController();
  const end = (): void => link.abort();
  signal?.addEventListener("abort", end);
  let silence = setTimeout(end, silentMs);
  const received: TaskChanges[] = [];
  const parser = createParser({ onEvent: ({ data }) => received.push(changesIn(data)), onRetry });
  const decoder = new TextDecoder();
  try {
    const reader = (await open(link.signal)).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      clearTimeout(silence); // time that the reader takes does not count as silence
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* received.splice(0);
      silence = setTimeout(end, silentMs);
    }
  } finally {
    clearTimeout(silence);
    signal?.removeEventListener("abort", end);
    link.abort();
  }
}

function changesIn(data: string): TaskChanges {
  const changes: unknown = JSON.parse(data);
  const tasks: unknown =
    typeof changes === "object" && changes !== null && "tasks" in changes && changes.tasks;
  if (tasks === null) return { tasks };
  if (Array.isArray(tasks)) return { tasks: tasks.map(String) };
  throw new HoldfastError("configuration", "The endpoint's stream is not a stream of task changes.");
}

/** Whether to retry after a stream broke or was not opened. */
function mayAnswerLater(error: unknown): boolean {
  if (!(error instanceof HoldfastError)) return true;
  return !["unauthenticated", "insufficient_scope", "configuration", "invalid_params"].includes(error.code);
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}
