import type { Readable, Writable } from "node:stream";
import { setTimeout as after } from "node:timers/promises";
import {
  type JSONRPCMessage,
  parseJSONRPCMessage,
  type RequestId,
  STDIO_DEFAULT_MAX_BUFFER_SIZE,
} from "@modelcontextprotocol/server";
import { serveStdio as serveSdk, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { HoldfastError } from "../../task/fault.ts";
import { onePipe } from "../streams.ts";
import { isJsonObject } from "../../generation/message.ts";
import { assertOptions, isObject, number, settingsOf, tableOf, value } from "../../options/options.ts";
import { assertTaskServer, type TaskServer } from "../task-server.ts";
import { ListenTransport } from "./listen-transport.ts";
import { reserveOnPipe } from "../http/unread-bytes.ts";
import { NodeCount } from "../limits.ts";

class DeclaredStdioOptions {
  /** The stream of incoming messages. Default `process.stdin`. */
  readonly stdin?: Readable = value("a stream", isObject);
  /** The stream of outgoing messages. Nothing else may write to it. Default `process.stdout`. */
  readonly stdout?: Writable = value("a stream", isObject);
  /** Maximum number of unanswered requests of the client; one more is refused with -32000. Default 1,000. */
  readonly maxOpenRequests?: number = number({ min: 1, default: 1_000 });
}

/** Options of `serveStdio`. */
export interface StdioOptions extends DeclaredStdioOptions {}

export const stdioOptions = tableOf<StdioOptions>(DeclaredStdioOptions);

/** A server on stdin and stdout. */
export interface StdioServer {
  /** Ends listen streams, closes the connection and stops the tasks. Idempotent. */
  close(): Promise<void>;
}

/** How long a client may take to read the last messages. */
const lastWordMs = 1_000;

/** The user of the process owns its tasks, also in later processes on the same store. */
const principal = "local";

/**
 * Starts the tasks and serves them to the one client at the other end of stdin and stdout; write logs to stderr. When stdin ends, or on
 * `close`, the server shuts down in order. Rejects with the store's error if the store cannot be opened.
 *
 * ```ts
 * const stdio = await serveStdio(tasks.server(makeServer));
 * process.on("SIGTERM", () => void stdio.close());
 * ```
 */
export async function serveStdio(server: TaskServer, options: StdioOptions = {}): Promise<StdioServer> {
  assertTaskServer("serveStdio", server);
  assertOptions("serveStdio", options, stdioOptions);
  const { stdin = process.stdin, stdout = process.stdout } = options;
  const { maxOpenRequests } = settingsOf<StdioOptions, "stdin" | "stdout">(stdioOptions, options);
  await server.start(); // what comes in meanwhile waits in the pipe
  // It leaves room for the largest arguments, escaped.
  const maxBytes = Math.max(STDIO_DEFAULT_MAX_BUFFER_SIZE, 2 * server.options.maxBodyBytes);
  const { maxNodes } = server.options;
  const refuse: Refuse = (id, message) => {
    const error = server.errorOf(new HoldfastError("invalid_request", message));
    wire.send({ jsonrpc: "2.0", id: id as RequestId, error }).catch(server.onError);
  };
  // Each answer that its client has not read yet waits by listeners of its own.
  const listeners = stdout.getMaxListeners();
  stdout.setMaxListeners(0);
  const wire: LineTransport = new LineTransport(stdin, stdout, { maxNodes, maxBytes }, refuse);
  const transport = new ListenTransport(wire, { server, sender: { principal }, maxOpenRequests });
  const streams = { ...onePipe, reserve: reserveOnPipe() };
  const connection = serveSdk((context) => server.create(context, { principal }, streams), {
    transport,
    legacy: "serve",
    onerror: server.onError,
  });
  const end = async (): Promise<void> => {
    await Promise.race([connection.close(), after(lastWordMs, undefined, { ref: false })]);
    await transport.close();
    stdout.setMaxListeners(listeners);
    await server.stop();
  };
  let ending: Promise<void> | undefined;
  const close = (): Promise<void> => (ending ??= end());
  const { onclose } = transport;
  const closed = (): void => {
    onclose?.();
    close().catch(server.onError);
  };
  transport.onclose = closed;
  return { close };
}

/** Called with the id of a request, or null if it was not found, and with what is wrong with it. */
type Refuse = (id: RequestId | null, fault: string) => void;

/**
 * Reads lines as messages. A request that is no JSON-RPC is refused, and such an answer ends its request: the SDK ignores both, so that somebody
 * would wait for ever. For what is no JSON at all, nobody waits.
 */
class LineTransport extends StdioServerTransport {
  readonly #lines: BoundedLines;
  readonly #refuse: Refuse;

  constructor(stdin: Readable, stdout: Writable, limits: LineLimits, refuse: Refuse) {
    super(stdin, stdout);
    this.#lines = new BoundedLines(limits);
    this.#refuse = refuse;
  }

  override readonly _ondata = (chunk: Buffer | string): void => {
    // A stdin with an encoding gives texts.
    for (const line of this.#lines.add(typeof chunk === "string" ? Buffer.from(chunk) : chunk)) {
      if (typeof line !== "string") this.#refuse(line.id, line.fault);
      else {
        const message = this.#read(line);
        if (message !== undefined) this.onmessage?.(message);
      }
    }
  };

  #read(line: string): JSONRPCMessage | undefined {
    let given: unknown;
    try {
      given = JSON.parse(line);
      return parseJSONRPCMessage(given);
    } catch {
      if (given === undefined) return undefined;
    }
    if (Array.isArray(given))
      this.#refuse(null, "Batches are not supported: send each message in a line of its own.");
    if (!isJsonObject(given)) return undefined;
    const id = isRequestId(given["id"]) ? given["id"] : null;
    if ("method" in given) {
      if ("id" in given) this.#refuse(id, "The request is not a valid JSON-RPC message.");
      return undefined;
    }
    const error = { code: -32_600, message: "The client's answer is not a valid JSON-RPC message." };
    return id === null ? undefined : { jsonrpc: "2.0", id, error };
  }
}

function isRequestId(id: unknown): id is RequestId {
  return typeof id === "string" || Number.isInteger(id);
}

const newline = 0x0a;

/** What some programs on Windows write before their first line. */
const byteOrderMark = "\uFEFF";

/** How much of the beginning and the end of a line is searched for the id of a request. */
const edgeBytes = 512;

/** Where clients write a request's id: at the beginning of the message, or at its end. */
const atTheStart = /^(?:\xEF\xBB\xBF)?\s*\{"jsonrpc":"2\.0","id":(\d{1,15}|"[^"\\]{0,100}"),"method":/;

const requestAtTheStart = /^(?:\xEF\xBB\xBF)?\s*\{"method":/;

const atTheEnd = /,"jsonrpc":"2\.0","id":(\d{1,15}|"[^"\\]{0,100}")\}\s*$/;

/** Of one line. */
interface LineLimits {
  readonly maxNodes: number;
  readonly maxBytes: number;
}

/** A line that exceeds a limit, and the id of its request; null if that was not found. */
interface Exceeding {
  readonly id: RequestId | null;
  readonly fault: string;
}

/** Cuts what arrives into lines. Of one that is too long, or has too many values, nothing is kept but its ends. */
export class BoundedLines {
  readonly #limits: LineLimits;
  #count: NodeCount;
  #parts: Buffer[] = [];
  #bytes = 0;
  #start = "";
  #end = "";

  constructor(limits: LineLimits) {
    this.#limits = limits;
    this.#count = new NodeCount(limits.maxNodes);
  }

  /** The lines that end in this part, without byte order marks before them. */
  *add(chunk: Buffer): Generator<string | Exceeding> {
    for (let from = 0; from < chunk.length;) {
      const end = chunk.indexOf(newline, from);
      this.#append(chunk.subarray(from, end === -1 ? chunk.length : end));
      if (end === -1) return;
      yield this.#line();
      from = end + 1;
    }
  }

  #append(part: Buffer): void {
    if (this.#start.length < edgeBytes) this.#start += part.toString("latin1", 0, edgeBytes);
    this.#end = (this.#end + part.toString("latin1", Math.max(0, part.length - edgeBytes))).slice(-edgeBytes);
    this.#bytes += part.length;
    for (let place = 0; place < part.length && this.#fault === undefined; place++)
      this.#count.add(part[place] as number);
    if (this.#fault === undefined) this.#parts.push(part);
    else this.#parts = [];
  }

  #line(): string | Exceeding {
    const fault = this.#fault;
    const text = Buffer.concat(this.#parts).toString("utf8");
    const line = text.startsWith(byteOrderMark) ? text.slice(1) : text;
    const read = fault === undefined ? line : { id: this.#id(), fault };
    this.#count = new NodeCount(this.#limits.maxNodes);
    this.#parts = [];
    this.#bytes = 0;
    this.#start = "";
    this.#end = "";
    return read;
  }

  get #fault(): string | undefined {
    const { maxBytes } = this.#limits;
    if (this.#bytes > maxBytes) return `The message is larger than ${maxBytes} bytes.`;
    return this.#count.tooMany ? this.#count.fault : undefined;
  }

  #id(): RequestId | null {
    const [, id] =
      atTheStart.exec(this.#start) ??
      (requestAtTheStart.test(this.#start) ? atTheEnd.exec(this.#end) : null) ??
      [];
    return id === undefined ? null : (JSON.parse(id) as RequestId);
  }
}
