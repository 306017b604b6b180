import { systemClock } from "../../client/clock.ts";
import { connect } from "../../client/connect.ts";
import type { ConnectOptions } from "../../client/connect-options.ts";
import { memoryHandles } from "../../client/handles/handle-store.ts";
import { describeCause, TaskClientError } from "../../client/task-client-error.ts";
import type { TaskClient } from "../../client/task-client.ts";
import type { ServerTarget } from "../../client/transport/server-connection.ts";
import { unlessAborted } from "../../client/background-work.ts";
import { RelayedQuestions } from "./relayed-questions.ts";

export interface UpstreamConnectionSetup {
  readonly name: string;
  readonly target: ServerTarget;
  readonly options: ConnectOptions;
  /** Called with each new connection; what it returns ends with that. */
  readonly onConnected?: (client: TaskClient, signal: AbortSignal) => void;
  /** It is for one call, which hears that the server refuses it, or speaks no MCP, and fails then. Default: it is tried until that is corrected. */
  readonly isForOneCall?: boolean;
  /** Receives why there is no connection. */
  readonly onError: (error: unknown) => void;
}

const shortestPauseMs = 250;
const longestPauseMs = 30_000;
/** A connection that has lasted so long (ms) does not count as one that fails at once. */
const steadyMs = 10_000;
/** The last lines of a program's stderr may be among it. */
const mostReasonChars = 500;

/** There is no connection to a server now, and the next try comes by itself: a line says all, and a stack would be no help. */
export class ServerAway extends Error {
  override readonly name = "ServerAway";

  /** What `console.error` prints of it. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return `${this.name}: ${this.message}`;
  }
}

/** A connection to a server that is opened again, and its process started again, with growing pauses, whenever it ends. */
export class UpstreamConnection {
  /** For messages. */
  readonly name: string;
  /** Receives the questions of all its connections. */
  readonly questions: RelayedQuestions;
  /** Of all its connections. Some servers show a task only in the session that made it, which is known from here. */
  readonly handles = memoryHandles();
  readonly #setup: UpstreamConnectionSetup;
  readonly #closing = new AbortController();
  #client: TaskClient | undefined;
  #next = Promise.withResolvers<TaskClient>();
  readonly #tried = Promise.withResolvers<void>();
  readonly #ended: Promise<void>;

  constructor(setup: UpstreamConnectionSetup) {
    this.name = setup.name;
    this.#setup = setup;
    this.questions = new RelayedQuestions((error) =>
      setup.onError(new Error(`A question of the server ${setup.name} was put to nobody`, { cause: error })),
    );
    this.#ended = this.#run();
  }

  /** Resolves when it has connected, or has failed to for the first time. */
  get tried(): Promise<void> {
    return this.#tried.promise;
  }

  /** Undefined while there is no connection. */
  get current(): TaskClient | undefined {
    return this.#client;
  }

  /** The connection of now, or the next one when that is open. Rejects with the reason of the signal. */
  readonly client = async (signal: AbortSignal): Promise<TaskClient> =>
    this.#client ?? unlessAborted(this.#next.promise, signal);

  async close(): Promise<void> {
    this.#closing.abort(new Error(`The connection to the server ${this.name} was closed`));
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    const { onError, isForOneCall = false } = this.#setup;
    let pauseMs = shortestPauseMs;
    let reported: string | undefined;
    while (!signal.aborted) {
      const since = systemClock.elapsed();
      try {
        await this.#connection();
        reported = undefined;
      } catch (cause) {
        if (isForOneCall && isRefusal(cause)) return this.#end(cause);
        const away = this.#away(cause);
        if (!signal.aborted && away.message !== reported) onError(away);
        reported = away.message;
      }
      this.#tried.resolve();
      if (systemClock.elapsed() - since >= steadyMs) pauseMs = shortestPauseMs;
      await systemClock.sleep(pauseMs, signal).catch(() => undefined);
      pauseMs = Math.min(2 * pauseMs, longestPauseMs);
    }
    this.#end(signal.reason);
  }

  #away(cause: unknown): ServerAway {
    const reason = describeCause(cause)
      .replaceAll(/\s*\n\s*/g, " ")
      .slice(0, mostReasonChars);
    return new ServerAway(`The server ${this.name} cannot be reached, and is tried again. ${reason}`, {
      cause,
    });
  }

  /** Whoever waits for a connection hears that there will be none. */
  #end(reason: unknown): void {
    this.#next.promise.catch(() => undefined);
    this.#next.reject(reason);
  }

  /** Opens a connection, and resolves when it has ended. */
  async #connection(): Promise<void> {
    const { target, options, onConnected, onError } = this.#setup;
    const { signal } = this.#closing;
    const { handles, questions } = this;
    const client = await connect(target, { ...options, handles, onInput: questions.onInput, signal });
    const ended = new AbortController();
    const isOver = Promise.withResolvers<void>();
    client.sdk.onclose = () => isOver.resolve();
    client.sdk.onerror = () => undefined; // calls and waits reject with what concerns them
    if (client.sdk.transport === undefined) isOver.resolve();
    this.#client = client;
    this.#next.resolve(client);
    try {
      onConnected?.(client, ended.signal);
      this.#tried.resolve();
      await unlessAborted(isOver.promise, signal);
      onError(new ServerAway(`The connection to the server ${this.name} has ended, and is opened again`));
    } finally {
      this.#client = undefined;
      this.#next = Promise.withResolvers();
      ended.abort(new Error(`The connection to the server ${this.name} has ended`));
      await client.close().catch(onError);
      questions.connectionEnded();
    }
  }
}

/** Whether the next try would end in the same way. */
function isRefusal(error: unknown): boolean {
  return error instanceof TaskClientError && (error.code === "unauthorized" || error.code === "protocol");
}
