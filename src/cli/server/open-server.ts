import {
  type FetchLike,
  InsufficientScopeError,
  OAuthError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  type JSONRPCMessage,
} from "@modelcontextprotocol/client";
import { Agent } from "node:https";
import { innermost, TaskClientError } from "../../client/task-client-error.ts";
import { stderrMark } from "../../client/transport/process-transport.ts";
import { quoteWord } from "../arguments/words.ts";
import { sanitizeLine } from "../terminal/text.ts";
import { commandPrefix, type FoundServer, shownGiven, urlOfPath } from "./find-server.ts";
import type { ProtocolVersion } from "../../generation/generations.ts";
import { systemClock } from "../../client/clock.ts";
import { connect } from "../../client/connect.ts";
import type { ConnectOptions } from "../../client/connect-options.ts";
import type { LoginStore } from "../../client/auth/login.ts";
import type { HandleStore } from "../../client/handles/handle-store.ts";
import type { OnInput } from "../../client/question/ask-user.ts";
import type { TaskClient } from "../../client/task-client.ts";
import { fetchBy, fetchWithoutTimeout } from "../../client/transport/node-fetch.ts";
import type { ClientEvent, TransportKind } from "../../client/client-events.ts";
import type { ServerOptions } from "../context.ts";
import { UsageError } from "../errors.ts";
import type { Io } from "../io.ts";
import type { Display, Terminal } from "../terminal/terminal.ts";
import { SessionTransport } from "../session/open-sessions.ts";
import { hasAuthorization, readCredentials } from "./resolve-server.ts";
import { appendFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { isJsonObject } from "../../generation/message.ts";

const hints: readonly (readonly [RegExp, string])[] = [
  [/^(ENOTFOUND|EAI_AGAIN)$/, "The host name could not be resolved (DNS)."],
  [/^ECONNREFUSED$/, "Nothing is listening at that address."],
  [/^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/, "The host cannot be reached from here."],
  [
    /CERT|^ERR_TLS|^ERR_SSL|^EPROTO$|^UNABLE_TO_/,
    "The TLS connection failed: the certificate is not accepted, or the server does not speak TLS.",
  ],
  [/^ENOENT$/, "The command or the working directory does not exist."],
  [/^EACCES$/, "You do not have permission to run the command."],
];

/** Shows the end of the log, which says why the process ended. */
const maxLogCharacters = 4_000;

/** An error of `connect`, with a hint for the user and the end of the server's log. */
export function explainConnectFailure(error: unknown, server: FoundServer, log = ""): unknown {
  if (!(error instanceof TaskClientError)) return error;
  const reason = `Could not connect to ${asTyped(server)}: ${reasonOf(error, server)}`;
  return withLines(error, [reason, hint(error, server), serverLog(log)]);
}

/** The error for a connection that was lost or refused later, with the end of the server's log, or how to log in. */
function explainLoss(error: unknown, server: FoundServer, log: string): unknown {
  if (!(error instanceof TaskClientError)) return error;
  if (error.code === "unauthorized") return withLines(error, [error.message, loginHint(error, server)]);
  return error.code === "connection" ? withLines(error, [error.message, serverLog(log)]) : error;
}

function withLines(error: TaskClientError, lines: readonly (string | undefined)[]): TaskClientError {
  const { code, cause, taskId, reference } = error;
  const rpc = error.error === undefined ? {} : { error: error.error };
  const [message = "", ...rest] = lines.filter((line) => line !== undefined);
  const [headline = ""] = message.split(stderrMark); // the log follows
  const text = [headline, ...rest].join("\n");
  return new TaskClientError(code, text, { cause, taskId, reference, ...rpc });
}

function serverLog(log: string): string | undefined {
  // A server that exits at once is started again for the older protocols, and logs the same again.
  const half = log.slice(0, log.length / 2);
  const tail = (half.repeat(2) === log ? half : log).trim().slice(-maxLogCharacters);
  return tail === "" ? undefined : `The end of the server's log:\n${tail}`;
}

/** The reason without the text of libraries: the innermost cause, if there is one. */
function reasonOf({ message, cause }: TaskClientError, server: FoundServer): string {
  if (isTimeout(cause)) return "it did not answer in time";
  // Our own message is more useful than the authorization server's.
  if (cause instanceof OAuthError) return message;
  const inner = cause instanceof Error ? innermost(cause) : undefined;
  const text = inner === undefined || inner === cause ? message : inner.message || codeOf(inner) || message;
  return text
    .replaceAll(server.name, asTyped(server))
    .replaceAll(server.spec.given, server.shown)
    .replace(`Could not connect to ${asTyped(server)}: `, "")
    .replace("answered the probe with", "answered")
    .trim();
}

/** Whether the answer is probably not from an MCP server. */
function isNoEndpoint({ cause }: TaskClientError): boolean {
  const isOther = cause instanceof SdkError && cause.code === SdkErrorCode.ClientHttpUnexpectedContent;
  return isOther || (cause instanceof SdkHttpError && [400, 404, 405, 406, 415].includes(cause.data.status));
}

function asTyped({ shown }: FoundServer): string {
  return shown.startsWith(commandPrefix) ? shown.slice(commandPrefix.length) : shown;
}

function isTimeout(cause: unknown): boolean {
  return cause instanceof SdkError && cause.code === SdkErrorCode.RequestTimeout;
}

function codeOf(error: Error): string | undefined {
  return "code" in error && typeof error.code === "string" ? error.code : undefined;
}

function loginHint({ cause }: TaskClientError, server: FoundServer): string | undefined {
  if (typeof server.target !== "string") return undefined;
  const scope = cause instanceof InsufficientScopeError ? cause.requiredScope : undefined;
  const scopes = scope === undefined ? "" : ` --scope ${quoteWord(sanitizeLine(scope))}`;
  const command = `holdfast login ${quoteWord(asTyped(server))}${scopes}`;
  if (cause instanceof SdkHttpError && cause.data.status === 403)
    return `To connect as someone else, use ${command}, HOLDFAST_TOKEN, --token or --header.`;
  return `Log in with:\n  ${command}\nOr give a token: HOLDFAST_TOKEN, --token or --header.`;
}

function hint(error: TaskClientError, server: FoundServer): string | undefined {
  const { target, session } = server;
  if (session !== undefined) return undefined; // the error says all: its process was started before
  if (error.code === "unauthorized") return loginHint(error, server);
  if (isNoEndpoint(error))
    return `Something answers at that address, but not as an MCP server. Check the path.${usualPath(target)}`;
  if (error.error !== undefined) return undefined; // it speaks MCP, and says why it refuses
  if (error.code === "protocol")
    return "Something answers at that address, but it is not an MCP server that this client can use.";
  const code = codeOf(innermost(error));
  const found = code === undefined ? undefined : hints.find(([pattern]) => pattern.test(code));
  if (found !== undefined) return `${found[1]}${meantUrl(server)}`;
  return typeof target === "string" || isTimeout(error.cause)
    ? undefined
    : "The process ended, or closed its output, before it answered. If another command is running this server, end that one first: most servers cannot share their files.";
}

/** For a command that looks like an address without a port. */
function meantUrl({ spec, target }: FoundServer): string {
  const url = typeof target === "string" ? undefined : urlOfPath(spec.given);
  return url === undefined ? "" : ` Did you mean ${shownGiven(url)}?`;
}

/** The usual path of MCP servers, for an address without a path. */
function usualPath(target: FoundServer["target"]): string {
  if (typeof target !== "string" || new URL(target).pathname !== "/") return "";
  return ` Many servers are at ${new URL("/mcp", target).href}.`;
}

/** How many characters of a server's stderr are kept. */
const keptLogCharacters = 10_000;

/** The protocol for a task that is visible in no other, whatever `--protocol` says. Empty: the latest that the server supports. */
export type ProtocolChoice = Pick<ConnectOptions, "protocolVersion" | "generation">;

interface OpenOptions {
  readonly server: FoundServer;
  readonly options: ServerOptions;
  readonly io: Pick<Io, "env" | "stderr" | "cwd">;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  readonly handles: HandleStore;
  readonly logins: LoginStore;
  readonly onInput: OnInput;
  readonly protocol: ProtocolChoice;
}

interface OpenedServer {
  readonly client: TaskClient;
  readonly transport: TransportKind | undefined;
  /** Adds the end of the server's log to an error of the connection. */
  readonly explainLoss: (error: unknown) => unknown;
}

/** Connects as `connect` does; adds a hint and the server's log to errors. */
export async function openServer({
  server,
  options,
  io,
  terminal,
  signal,
  handles,
  logins,
  onInput,
  protocol,
}: OpenOptions): Promise<OpenedServer> {
  const { target, name } = server;
  let log = "";
  const credentials = readCredentials(server, options, io.env);
  const { headers, token } = credentials;
  let transport: TransportKind | undefined;
  const { connectTimeout } = options;
  const fetch = options.insecure === true ? insecureFetch(server) : undefined;
  const onMessage = wireWatch(options, io, terminal.display);
  const deadline = connectTimeout === undefined ? undefined : systemClock.deadline(connectTimeout * 1000);
  const session = server.session && new SessionTransport(server.session.address);
  const agreed = server.session?.protocolVersion as ProtocolVersion | undefined;
  terminal.display.connecting(server.shown);
  try {
    const client = await connect(
      session ??
        (typeof target === "string"
          ? target
          : { ...target, stderr: (text) => (log = (log + text).slice(-keptLogCharacters)) }),
      {
        serverName: name,
        headers,
        ...(token !== undefined && { token }),
        ...(!hasAuthorization(credentials) && { auth: logins }),
        capabilities: terminal.capabilities,
        onInput,
        signal: deadline === undefined ? signal : AbortSignal.any([signal, deadline.signal]),
        handles,
        ...(fetch && { fetch }),
        ...(onMessage && { onMessage }),
        onEvent: (event) => {
          if (event.type === "connected") transport = event.transport;
          showTrouble(event, terminal.display);
        },
        ...(options.protocol !== undefined && { protocolVersion: options.protocol }),
        ...protocol,
        ...(agreed !== undefined && { protocolVersion: agreed }),
      },
    );
    terminal.display.connected();
    return { client, transport, explainLoss: (error) => explainLoss(error, server, session?.log ?? log) };
  } catch (error) {
    const isLate = deadline?.signal.aborted === true && error === deadline.signal.reason;
    const late = `it did not answer within ${connectTimeout} s, as --connect-timeout says`;
    throw explainConnectFailure(
      isLate ? new TaskClientError("connection", late) : error,
      server,
      session?.log ?? log,
    );
  } finally {
    deadline?.clear();
  }
}

/** Accepts any certificate of this server. The servers of its logins are reached as usual: what they get is secret. */
function insecureFetch({ target }: FoundServer): FetchLike {
  if (typeof target !== "string" || !target.startsWith("https:"))
    throw new UsageError("--insecure is for servers with an https: URL.");
  const { origin } = new URL(target);
  const insecure = fetchBy({ agent: new Agent({ keepAlive: true, rejectUnauthorized: false }) });
  return async (url, init) =>
    new URL(url).origin === origin ? insecure(url, init) : fetchWithoutTimeout(url, init);
}

/** Shows from the first failure on that the server cannot be reached or fails, and when it answers again. */
export function showTrouble(event: ClientEvent, display: Pick<Display, "trouble">): void {
  const { type } = event;
  if (type === "poll_failed" || type === "call_delayed") {
    const { rpcCode } = event;
    const what = rpcCode === undefined ? "server unreachable" : `server error (${rpcCode})`;
    display.trouble(`${what}, trying again`);
  } else if (type === "poll_recovered" || type === "call_answered" || type === "task_seen") {
    display.trouble(undefined);
  }
}

/** A line of a recording. */
export interface RecordedMessage {
  readonly direction: "sent" | "received";
  readonly message: JSONRPCMessage;
}

/** The longest line of `--verbose`, in characters. */
const longestLine = 2_000;

/** What `--verbose` and `--record` do with each message; undefined without them. */
export function wireWatch(
  { verbose, record }: Pick<ServerOptions, "verbose" | "record">,
  { stderr, cwd }: Pick<Io, "stderr" | "cwd">,
  display: Pick<Display, "suspend">,
): ((message: JSONRPCMessage, direction: RecordedMessage["direction"]) => void) | undefined {
  if (verbose !== true && record === undefined) return undefined;
  let file = record === undefined ? undefined : newRecording(resolve(cwd, record));
  const say = (line: string): void => {
    using _room = display.suspend();
    stderr.write(`${line}\n`);
  };
  return (message, direction) => {
    const shown = withoutSecrets(message) as JSONRPCMessage;
    try {
      if (file !== undefined)
        appendFileSync(file, `${JSON.stringify({ direction, message: shown } satisfies RecordedMessage)}\n`);
    } catch (error) {
      file = undefined;
      say(`holdfast: the recording ends here: ${(error as Error).message}`);
    }
    if (verbose === true)
      say(`${direction === "sent" ? "->" : "<-"} ${sanitizeLine(JSON.stringify(shown), longestLine)}`);
  };
}

/** Commands of one session may record to the same file. */
function newRecording(path: string): string {
  try {
    writeFileSync(path, "", { mode: 0o600, flag: "a" });
  } catch (error) {
    throw new UsageError(`The file of --record cannot be written: ${(error as Error).message}`);
  }
  return path;
}

const secretName = /token|secret|passw(or)?d|passphrase|authorization|api[-_]?key|credential|cookie/i;

/** Members that only sound like secrets. */
const harmless: ReadonlySet<string> = new Set(["progressToken", "tokens", "maxTokens", "tokenCount"]);

/** The same with `***` in the place of every text whose name says that it is a secret. */
export function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      typeof member === "string" && secretName.test(name) && !harmless.has(name)
        ? "***"
        : withoutSecrets(member),
    ]),
  );
}
