import {
  type ClientCapabilities,
  type Implementation,
  Client,
  SdkHttpError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  UnauthorizedError,
  UnsupportedProtocolVersionError,
} from "@modelcontextprotocol/client";
import type { TransportKind } from "../client-events.ts";
import type { ClientClock } from "../clock.ts";
import { hasSessions, type ProtocolVersion } from "../../generation/generations.ts";
import type { ConnectOptions } from "../connect-options.ts";
import type { HandleStore } from "../handles/handle-store.ts";
import { BoundedMap } from "../session/bounded-map.ts";
import { findSession, SessionResumption } from "../session/session-resumption.ts";
import { describeCause, ownErrorIn, TaskClientError } from "../task-client-error.ts";
import type { JsonObject } from "../../generation/message.ts";
import { connectionTo, httpAddress, type ConnectionOptions, type ServerTarget } from "./server-connection.ts";
import { RawRequester, type RequesterOptions } from "./raw-requester.ts";
import { mayBeRefusedByHttpSse, NoSseServer } from "./sse-transport.ts";
import { invalidAnswer, isInvalidAnswer, rpcErrorOf, sendFailure } from "./send-failure.ts";
import type { ServerProcess } from "./process-transport.ts";
import { isHtml, messageInBody } from "../reply/reply.ts";

export interface OpenOptions
  extends
    Omit<ConnectOptions, "handles" | "maxAnswerBytes" | "probeTimeoutMs">,
    Pick<ConnectionOptions, "wrapFetch" | "isHttpSse" | "maxAnswerBytes">,
    Required<Pick<RequesterOptions, "rewriteOutgoing" | "rewriteIncoming">> {
  readonly probeTimeoutMs: number;
  /** Holds the session to resume, if there is one. */
  readonly handles: HandleStore | undefined;
  readonly clientInfo: Implementation;
  readonly capabilities: ClientCapabilities;
  /** Called before the first message, to add handlers. */
  readonly prepare: (sdk: Client, requester: RawRequester) => void;
}

export interface OpenConnection {
  readonly sdk: Client;
  readonly requester: RawRequester;
  /** How task references name the server. */
  readonly name: string;
  readonly transport: TransportKind | undefined;
}

/**
 * Connects in the session of an earlier client, if one is stored and still valid. Otherwise uses protocol 2026-07-28 if the server speaks
 * it, else the handshake of earlier revisions, over HTTP+SSE if the server has no other transport. Rejects with a TaskClientError or the
 * signal's reason.
 */
export async function openConnection(
  server: ServerTarget,
  options: OpenOptions,
  clock: ClientClock,
): Promise<OpenConnection> {
  const resumed = await resumeStoredSession(server, options, clock);
  if (resumed !== undefined) return resumed;
  const { protocolVersion, generation } = options;
  const version = protocolVersion ?? (generation === undefined ? undefined : "earlier");
  const silent = version === undefined ? silentAddress(server) : undefined;
  if (silent !== undefined && silentServers.get(silent) === true) {
    const known = await tryToConnect(server, options, clock, "earlier");
    if ("sdk" in known) return known;
    silentServers.delete(silent);
  }
  const first = await tryToConnect(server, options, clock, version);
  if ("sdk" in first) return first;
  if (mayBeHttpSse(server, first.error) && (version === undefined || isEarlier(version))) {
    const overSse = await tryToConnect(server, { ...options, isHttpSse: true }, clock, version ?? "earlier");
    if ("sdk" in overSse) return overSse;
    throw isNoSseServer(overSse.error) ? first.error : overSse.error;
  }
  // Some servers exit on any request before the handshake, never answer one, or refuse it in a way of their own.
  if (version !== undefined || !mayKnowEarlier(server, first)) throw first.error;
  const second = await tryToConnect(server, options, clock, "earlier");
  if (!("sdk" in second)) throw second.error;
  if (silent !== undefined && isTimeout(first.error)) silentServers.set(silent, true);
  return second;
}

/** Servers that never answer the request that asks for 2026-07-28: the next connection of this process does not wait for it again. */
const silentServers = new BoundedMap<true>(1_000);

function silentAddress(server: ServerTarget): string | undefined {
  if (typeof server === "string" || server instanceof URL) return String(server);
  return isProcess(server) ? JSON.stringify([server.command, server.args, server.cwd]) : undefined;
}

function isProcess(server: ServerTarget): server is ServerProcess {
  return typeof server === "object" && server !== null && "command" in server;
}

/** The server, or what stands before it, may answer later. */
function isUnavailable(status: number): boolean {
  return status === 429 || (status > 501 && status < 600);
}

function isTimeout(error: unknown): boolean {
  const cause = error instanceof TaskClientError ? error.cause : undefined;
  return cause instanceof SdkError && cause.code === SdkErrorCode.RequestTimeout;
}

/** Whether the server may speak an earlier version although it did not say so when it was asked for 2026-07-28. */
function mayKnowEarlier(server: ServerTarget, { error, endedByServer }: FailedAttempt): boolean {
  const isUrl = typeof server === "string" || server instanceof URL;
  if (!isUrl && !isProcess(server)) return false; // a transport starts only once
  if (endedByServer) return !isUrl;
  const cause = error instanceof TaskClientError ? error.cause : undefined;
  if (cause instanceof SdkHttpError) return !isUnavailable(cause.data.status) && cause.data.status !== 401;
  return isTimeout(error) || (cause instanceof SdkError && isUnreadable(cause));
}

/** Whether there was an answer that is no JSON-RPC, such as a page. */
function isUnreadable(cause: SdkError): boolean {
  const { cause: inner } = cause;
  return inner !== undefined && sendFailure(inner).kind === "bad";
}

function mayBeHttpSse(server: ServerTarget, error: unknown): boolean {
  if (typeof server !== "string" && !(server instanceof URL)) return false;
  const cause = error instanceof TaskClientError ? error.cause : undefined;
  return cause instanceof SdkHttpError && mayBeRefusedByHttpSse(cause.data.status);
}

function isNoSseServer(error: unknown): boolean {
  return error instanceof TaskClientError && error.cause instanceof NoSseServer;
}

function isEarlier(version: ProtocolVersion | "earlier"): boolean {
  return version === "earlier" || hasSessions(version);
}

/** Undefined if there is no session to resume, or its server no longer knows it. */
async function resumeStoredSession(
  target: ServerTarget,
  options: OpenOptions,
  clock: ClientClock,
): Promise<OpenConnection | undefined> {
  const { handles: store, rewriteOutgoing, rewriteIncoming } = options;
  const server = httpAddress(target, options);
  if (store === undefined || server === undefined) return undefined;
  const session = await findSession(store, server, options);
  if (session === undefined) return undefined;
  const resumption = new SessionResumption({ store, session, clock });
  const attempt = await tryToConnect(
    target,
    {
      ...options,
      wrapFetch: (fetchIt) => resumption.wrapFetch(fetchIt),
      rewriteOutgoing: (message) => resumption.rewriteOutgoing(rewriteOutgoing(message)),
      rewriteIncoming: (message) => rewriteIncoming(resumption.rewriteIncoming(message)),
    },
    clock,
    options.protocolVersion ?? "earlier",
  );
  return "sdk" in attempt ? attempt : undefined;
}

interface FailedAttempt {
  readonly error: unknown;
  readonly endedByServer: boolean;
}

async function tryToConnect(
  server: ServerTarget,
  options: OpenOptions,
  clock: ClientClock,
  version: ProtocolVersion | "earlier" | undefined,
): Promise<OpenConnection | FailedAttempt> {
  const { clientInfo, capabilities, prepare, signal } = options;
  signal?.throwIfAborted();
  const connection = connectionTo(server, options, clock);
  const requester = new RawRequester(connection, clock, options);
  const sdk = new Client(clientInfo, { capabilities, ...negotiation(version, options.probeTimeoutMs) });
  prepare(sdk, requester);
  // The SDK ignores signals during negotiation; closing the transport ends it.
  const onAbort = (): void => void requester.close().catch(() => undefined);
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    await sdk.connect(requester);
    signal?.throwIfAborted();
    assertDiscovered(sdk);
    connection.bounds?.handshakeEnded();
    return { sdk, requester, name: connection.name, transport: connection.kind };
  } catch (cause) {
    await requester.close().catch(() => undefined);
    await sdk.close().catch(() => undefined);
    signal?.throwIfAborted();
    const { endedByServer } = requester;
    return {
      error: connectError(
        connection.bounds?.failure ?? cause,
        connection.shownAs,
        connection.ending?.(),
        endedByServer,
      ),
      endedByServer,
    };
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

/** Throws what the SDK throws for all other answers with such a result type (X-008, X-B-006). It does not look at this one's. */
function assertDiscovered(sdk: Client): void {
  const { resultType = "complete" }: JsonObject = { ...sdk.getDiscoverResult() };
  if (resultType === "complete") return;
  const message = `it answered server/discover with resultType ${JSON.stringify(resultType)}`;
  throw new SdkError(SdkErrorCode.UnsupportedResultType, message);
}

function negotiation(
  version: ProtocolVersion | "earlier" | undefined,
  timeoutMs: number,
): ConstructorParameters<typeof Client>[1] {
  if (version === undefined) return { versionNegotiation: { mode: "auto", probe: { timeoutMs } } };
  if (version === "earlier") return { versionNegotiation: { mode: "legacy" } };
  if (!hasSessions(version)) return { versionNegotiation: { mode: { pin: version } } };
  return { versionNegotiation: { mode: "legacy" }, supportedProtocolVersions: [version] };
}

/**
 * The error for a failure of the SDK to connect. The SDK's error code is the same for almost every cause.
 * `endedByServer`: the server closed the connection.
 */
export function connectError(
  cause: unknown,
  server: string,
  ending?: string,
  endedByServer = false,
): TaskClientError {
  const own = ownErrorIn(cause);
  if (own !== undefined) return own;
  const message = `Could not connect to ${server}: ${ending ?? reasonOf(cause)}`;
  if (cause instanceof UnauthorizedError) return new TaskClientError("unauthorized", message, { cause });
  if (cause instanceof SdkHttpError) {
    const isDenial = cause.data.status === 401 || cause.data.status === 403;
    return new TaskClientError(isDenial ? "unauthorized" : "connection", message, { cause });
  }
  // Without a cause the connection worked, and the server answered something else.
  const spoke =
    cause instanceof SdkError &&
    cause.code === SdkErrorCode.EraNegotiationFailed &&
    cause.cause === undefined &&
    !endedByServer;
  const isProtocol = spoke || cause instanceof UnsupportedProtocolVersionError || isRefusal(cause);
  const error = cause instanceof ProtocolError ? rpcErrorOf(cause) : undefined;
  return new TaskClientError(isProtocol ? "protocol" : "connection", message, { cause, error });
}

/** The server answered the handshake of earlier revisions with an error or an unsupported version. */
function isRefusal(cause: unknown): boolean {
  if (cause instanceof ProtocolError || isInvalidAnswer(cause)) return true;
  return cause instanceof Error && cause.message.startsWith("Server's protocol version is not supported");
}

/** The reason, without the SDK's prefixes and without the JSON of an answer. */
function reasonOf(cause: unknown): string {
  const answer =
    cause instanceof SdkHttpError
      ? httpAnswer(cause)
      : isInvalidAnswer(cause)
        ? invalidAnswer(cause)
        : undefined;
  return answer ?? describeCause(cause).replace(/^Version negotiation (probe )?failed: /u, "");
}

/** For a redirect the SDK's own message is better. */
function httpAnswer({ data: { status, text } }: SdkHttpError): string | undefined {
  if (status >= 300 && status < 400) return undefined;
  const detail = messageInBody(text);
  const page = isHtml(text) ? " with a web page" : "";
  return `the server answered HTTP ${status}${detail === undefined ? page : `: ${detail}`}`;
}
