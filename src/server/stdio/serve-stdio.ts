import type { Readable, Writable } from "node:stream";
import { setTimeout as after } from "node:timers/promises";
import { STDIO_DEFAULT_MAX_BUFFER_SIZE, type RequestId } from "@modelcontextprotocol/server";
import { serveStdio as serveSdk, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { HoldfastError } from "../../task/fault.ts";
import { onePipe } from "../streams.ts";
import { assertOptions, isObject, number, settingsOf, tableOf, value } from "../../options/options.ts";
import { assertTaskServer, type TaskServer } from "../task-server.ts";
import { BoundedInput } from "./bounded-input.ts";
import { ListenTransport } from "./listen-transport.ts";
import { RatedTransport } from "../transport/rated-transport.ts";

export class StdioOptions {
  /** The stream of incoming messages. Default `process.stdin`. */
  readonly stdin?: Readable = value("a stream", isObject);
  /** The stream of outgoing messages. Nothing else may write to it. Default `process.stdout`. */
  readonly stdout?: Writable = value("a stream", isObject);
  /** Maximum number of unanswered requests of the client; one more is refused with -32000. Default 1,000. */
  readonly maxOpenRequests?: number = number({ min: 1, default: 1_000 });
}

export const stdioOptions = tableOf(StdioOptions);

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
  const { stdin = process.stdin, stdout } = options;
  const { maxOpenRequests } = settingsOf<StdioOptions, "stdin" | "stdout">(stdioOptions, options);
  await server.start(); // what comes in meanwhile waits in the pipe
  // A message over the limit closes the connection, so it leaves room for the largest arguments, escaped.
  const maxBufferSize = Math.max(STDIO_DEFAULT_MAX_BUFFER_SIZE, 2 * server.options.maxBodyBytes);
  const { maxNodes } = server.options;
  const input = new BoundedInput(stdin, maxNodes, (id, message) => {
    const fault = new HoldfastError("invalid_request", message);
    wire.send({ jsonrpc: "2.0", id: id as RequestId, error: server.errorOf(fault) }).catch(server.onError);
  });
  const wire: StdioServerTransport = new StdioServerTransport(input, stdout, { maxBufferSize });
  const transport = new ListenTransport(
    new RatedTransport(wire, { server, principal, maxOpenRequests }),
    server,
    principal,
  );
  const connection = serveSdk((context) => server.create(context, { principal }, onePipe), {
    transport,
    legacy: "serve",
    onerror: server.onError,
  });
  const end = async (): Promise<void> => {
    await Promise.race([connection.close(), after(lastWordMs, undefined, { ref: false })]);
    await transport.close();
    input.release();
    await server.stop();
  };
  let ending: Promise<void> | undefined;
  const close = (): Promise<void> => (ending ??= end());
  const { onclose } = transport;
  transport.onclose = () => {
    onclose?.();
    close().catch(server.onError);
  };
  return { close };
}
