import { type Readable, type Writable, Transform, type TransformCallback } from "node:stream";
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
  const input = new BoundedInput(stdin, { maxNodes, maxBytes }, refuse);
  // Each answer that its client has not read yet waits by listeners of its own.
  const listeners = stdout.getMaxListeners();
  stdout.setMaxListeners(0);
  const wire: LineTransport = new LineTransport(input, stdout, refuse);
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
    input.release();
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

const newline = 0x0a;

/**
 * Reads lines as messages. A request that is no JSON-RPC is refused, and such an answer ends its request: the SDK ignores both, so that somebody
 * would wait for ever. For what is no JSON at all, nobody waits.
 */
class LineTransport extends StdioServerTransport {
  readonly #refuse: Refuse;
  #parts: Buffer[] = [];

  constructor(stdin: Readable, stdout: Writable, refuse: Refuse) {
    super(stdin, stdout);
    this.#refuse = refuse;
  }

  override readonly _ondata = (chunk: Buffer): void => {
    let from = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      const line = Buffer.concat([...this.#parts, chunk.subarray(from, end)]).toString("utf8");
      this.#parts = [];
      from = end + 1;
      const message = this.#read(line);
      if (message !== undefined) this.onmessage?.(message);
    }
    if (from < chunk.length) this.#parts.push(chunk.subarray(from));
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

/** The end of a line that was cut off, which no JSON has: what is missing may be nothing but spaces and the last brace. */
const brokenEnd = "\0\n";

/** How much of the beginning and the end of a line is searched for the id of a request. */
const edgeBytes = 512;

/** Where clients write a request's id: at the beginning of the message, or at its end. */
const atTheStart = /^\s*\{"jsonrpc":"2\.0","id":(\d{1,15}|"[^"\\]{0,100}"),"method":/;

const requestAtTheStart = /^\s*\{"method":/;

const atTheEnd = /,"jsonrpc":"2\.0","id":(\d{1,15}|"[^"\\]{0,100}")\}\s*$/;

/** What some programs on Windows write before their first line. */
const byteOrderMark = [0xef, 0xbb, 0xbf];

/** Of one line. */
export interface LineLimits {
  readonly maxNodes: number;
  readonly maxBytes: number;
}

/**
 * The lines of `stdin`. A line that is too long, or has too many values, is cut off, so that it is no JSON and is ignored. `refused` is called
 * with the id of its request, or null if it was not found, and with the limit that it exceeds.
 */
export class BoundedInput extends Transform {
  readonly #stdin: Readable;
  readonly #limits: LineLimits;
  readonly #refused: Refuse;
  readonly #onClose = (): void => void this.end();
  readonly #onError = (error: Error): void => void this.destroy(error);
  #count: NodeCount;
  #bytes = 0;
  /** How many bytes of a byte order mark the line began with. */
  #marked = 0;
  #start = "";
  #end = "";

  constructor(stdin: Readable, limits: LineLimits, refused: Refuse) {
    super();
    this.#stdin = stdin;
    this.#limits = limits;
    this.#refused = refused;
    this.#count = new NodeCount(limits.maxNodes);
    stdin.on("error", this.#onError).on("close", this.#onClose).pipe(this);
  }

  /** Stops reading. */
  release(): void {
    this.#stdin.off("error", this.#onError).off("close", this.#onClose).unpipe(this);
    this.#stdin.pause();
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    for (let from = 0; from < chunk.length;) {
      const end = chunk.indexOf(newline, from);
      this.#add(chunk.subarray(from, end === -1 ? chunk.length : end));
      if (end === -1) break;
      this.#endLine();
      from = end + 1;
    }
    done();
  }

  #add(whole: Buffer): void {
    const part = this.#bytes === 0 ? this.#withoutMark(whole) : whole;
    if (this.#start.length < edgeBytes) this.#start += part.toString("latin1", 0, edgeBytes);
    this.#end = (this.#end + part.toString("latin1", Math.max(0, part.length - edgeBytes))).slice(-edgeBytes);
    const most = Math.min(part.length, Math.max(0, this.#limits.maxBytes - this.#bytes));
    this.#bytes += part.length;
    let place = 0;
    while (place < most && !this.#count.tooMany) this.#count.add(part[place++] as number);
    if (place > 0) this.push(part.subarray(0, place));
  }

  #withoutMark(part: Buffer): Buffer {
    let from = 0;
    while (from < part.length && part[from] === byteOrderMark[this.#marked]) {
      from += 1;
      this.#marked += 1;
    }
    const isWhole = this.#marked === byteOrderMark.length;
    const rest = part.subarray(from);
    return isWhole || rest.length === 0 ? rest : Buffer.concat([this.#heldMark(), rest]);
  }

  /** What looked like the beginning of a mark, and is none. */
  #heldMark(): Buffer {
    return Buffer.from(byteOrderMark.slice(0, this.#marked));
  }

  get #fault(): string | undefined {
    const { maxBytes } = this.#limits;
    if (this.#bytes > maxBytes) return `The message is larger than ${maxBytes} bytes.`;
    return this.#count.tooMany ? this.#count.fault : undefined;
  }

  #endLine(): void {
    if (this.#bytes === 0 && this.#marked < byteOrderMark.length) this.push(this.#heldMark());
    const fault = this.#fault;
    if (fault !== undefined) this.#refused(this.#id(), fault);
    this.push(fault === undefined ? "\n" : brokenEnd);
    this.#count = new NodeCount(this.#limits.maxNodes);
    this.#bytes = 0;
    this.#marked = 0;
    this.#start = "";
    this.#end = "";
  }

  #id(): RequestId | null {
    const [, id] =
      atTheStart.exec(this.#start) ??
      (requestAtTheStart.test(this.#start) ? atTheEnd.exec(this.#end) : null) ??
      [];
    return id === undefined ? null : (JSON.parse(id) as RequestId);
  }
}
