import { HoldfastError } from "../task/fault.ts";
import type { Admin, AdminActs, TaskQuery } from "./admin.ts";
import { isAdminFault } from "./admin-faults.ts";

export interface RemoteAdminOptions {
  /** What the endpoint knows the operator by, as a bearer token. */
  readonly token: string;
  /** Default: the platform's. */
  readonly fetch?: typeof fetch;
  /** Ends what is under way, which then rejects with its reason, and whatever is asked for later. */
  readonly signal?: AbortSignal;
}

/**
 * What an admin endpoint gives to operators. Actions are recorded under the name that the endpoint has for the token, whatever name `as` is given. Rejects
 * as the server's own `Admin` does, with `unauthenticated` and `insufficient_scope` for a token that is not accepted or may only read, and
 * with `store_failed` where nobody answers. Throws `configuration` for a URL or a token that cannot be one.
 *
 * ```ts
 * const admin = remoteAdmin("https://reports.example.com/admin", { token });
 * const { tasks } = await admin.list({ states: ["failed"], tool: "publish_report" });
 * ```
 */
export function remoteAdmin(url: string, options: RemoteAdminOptions): Admin {
  const endpoint = new Endpoint(url, options);
  const acts = actsAt(endpoint);
  return {
    list: async (query = {}) => endpoint.read("tasks", listParameters(query)),
    show: async (id) => endpoint.read(task(id)),
    counts: () => endpoint.read("counts"),
    failures: async (tool, limit) => endpoint.read(`failures/${toolSegment(tool)}`, { limit }),
    actions: ({ taskId, before, limit } = {}) => endpoint.read("actions", { taskId, before, limit }),
    as: () => acts,
  };
}

function actsAt(endpoint: Endpoint): AdminActs {
  return {
    cancel: async (id) => endpoint.act(`${task(id)}/cancel`, {}),
    answer: async (id, answers) => endpoint.act(`${task(id)}/answer`, { answers }),
    retry: async (id, options = {}) => endpoint.act(`${task(id)}/retry`, options),
    extend: async (id, until) => endpoint.act(`${task(id)}/extend`, { until }),
    delete: async (id) => endpoint.remove(task(id)),
    pause: async (tool) => endpoint.act(`tools/${toolSegment(tool)}/pause`, {}),
    resume: async (tool) => endpoint.act(`tools/${toolSegment(tool)}/resume`, {}),
    bulk: (action, selection, options = {}) => endpoint.act("bulk", { action, selection, options }),
  };
}

type Parameters = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

function listParameters({ states, principal, ...others }: TaskQuery): Parameters {
  if (states?.length === 0)
    throw new HoldfastError("invalid_params", "No state is asked for: leave out states, or give some.");
  return {
    ...others,
    state: states,
    ...(principal === null ? { nobody: true } : { principal }),
  };
}

class Endpoint {
  readonly #base: string;
  readonly #token: string;
  readonly #fetch: typeof fetch;
  readonly #signal: AbortSignal | undefined;

  constructor(url: string, { token, fetch: given = fetch, signal }: RemoteAdminOptions) {
    this.#base = baseOf(url);
    // A header takes no other characters, and the platform would show the token in its error.
    if (!/^[\x21-\x7e]+$/.test(token))
      throw new HoldfastError(
        "configuration",
        "A token for an admin endpoint is of visible ASCII characters.",
      );
    this.#token = token;
    this.#fetch = given;
    this.#signal = signal;
  }

  read<T>(path: string, parameters: Parameters = {}): Promise<T> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters))
      for (const one of [value ?? []].flat()) search.append(name, String(one));
    const query = search.size === 0 ? "" : `?${search.toString()}`;
    return this.#ask("GET", `${path}${query}`);
  }

  act<T>(path: string, body: object): Promise<T> {
    return this.#ask("POST", path, body);
  }

  remove(path: string): Promise<void> {
    return this.#ask("DELETE", path);
  }

  /** What the endpoint answers is as the server's own `Admin` has it, of which it is a part. */
  async #ask<T>(method: string, path: string, body?: object): Promise<T> {
    const { response, text } = await this.#send(method, path, body);
    if (response.status === 204) return undefined as T;
    let answer: unknown;
    try {
      answer = JSON.parse(text);
    } catch {
      throw this.#stranger(response.status);
    }
    if (!response.ok) throw this.#refusal(response.status, answer);
    return answer as T;
  }

  async #send(
    method: string,
    path: string,
    body: object | undefined,
  ): Promise<{ readonly response: Response; readonly text: string }> {
    const headers = { Authorization: `Bearer ${this.#token}`, Accept: "application/json" };
    const withBody = body && {
      headers: { ...headers, "Content-Type": "application/json" },
      body: JSON.stringify(body, finite),
    };
    try {
      // The token is for this endpoint, and not for where it may send us.
      const init = {
        method,
        headers,
        redirect: "manual",
        signal: this.#signal ?? null,
        ...withBody,
      } as const;
      const response = await this.#fetch(`${this.#base}/${path}`, init);
      return { response, text: await response.text() };
    } catch (cause) {
      this.#signal?.throwIfAborted();
      const message = `The admin endpoint ${this.#base} does not answer: ${reasonOf(cause)}`;
      throw new HoldfastError("store_failed", message, { cause });
    }
  }

  #refusal(status: number, answer: unknown): HoldfastError {
    const error = member(answer, "error");
    const [code, message] = [member(error, "code"), member(error, "message")];
    if (!isAdminFault(code) || typeof message !== "string") return this.#stranger(status);
    return new HoldfastError(code, message);
  }

  #stranger(status: number): HoldfastError {
    if (status >= 500)
      return new HoldfastError("store_failed", `The admin endpoint ${this.#base} answers ${status}.`);
    return new HoldfastError("configuration", `${this.#base} is no admin endpoint: it answers ${status}.`);
  }
}

function baseOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol))
    throw new HoldfastError(
      "configuration",
      `An admin endpoint has a URL such as https://reports.example.com/admin.`,
    );
  if (parsed.username !== "" || parsed.password !== "" || parsed.search !== "" || parsed.hash !== "")
    throw new HoldfastError(
      "configuration",
      "The URL of an admin endpoint has no password, query or fragment.",
    );
  return `${parsed.origin}${parsed.pathname.replace(/\/+$/, "")}`;
}

function task(id: string): string {
  if (isSegment(id)) return `tasks/${encodeURIComponent(id)}`;
  throw new HoldfastError("unknown_task", `There is no task ${id}.`);
}

function toolSegment(tool: string): string {
  if (isSegment(tool)) return encodeURIComponent(tool);
  throw new HoldfastError(
    "invalid_params",
    `No URL has a place for a tool of the name ${JSON.stringify(tool)}.`,
  );
}

/** URLs take these away, encoded or not. */
function isSegment(name: string): boolean {
  return name !== "" && name !== "." && name !== ".." && name.isWellFormed();
}

/** JSON has null for them, which means something else: an end that never comes. */
function finite(name: string, value: unknown): unknown {
  if (typeof value !== "number" || Number.isFinite(value)) return value;
  throw new HoldfastError("invalid_params", `"${name}" is not a number that JSON has: ${value}.`);
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}

/** What the platform says of a connection is in the cause of what it throws. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message !== "" ? error.cause.message : error.message;
}
