import {
  type ClientCapabilities,
  type Implementation,
  Client,
  SdkHttpError,
} from "@modelcontextprotocol/client";
import type { TransportKind } from "../client-events.ts";
import type { ClientClock } from "../clock.ts";
import { hasSessions, type ProtocolVersion } from "../../generation/generations.ts";
import type { ConnectOptions } from "../connect-options.ts";
import { connectError } from "./connect-error.ts";
import type { HandleStore } from "../handles/handle-store.ts";
import { findSession, SessionResumption } from "../session/session-resumption.ts";
import { TaskClientError } from "../task-client-error.ts";
import { connectionTo, httpAddress, type ConnectionOptions, type ServerTarget } from "./server-connection.ts";
import { RawRequester } from "./raw-requester.ts";
import { mayBeRefusedByHttpSse, NoSseServer } from "./sse-transport.ts";
import { SdkTransport, type MessageRewrites } from "./sdk-transport.ts";
import { tracedConnection } from "./traced-transport.ts";

export interface OpenOptions
  extends
    Omit<ConnectOptions, "handles">,
    Pick<ConnectionOptions, "wrapFetch" | "isHttpSse">,
    MessageRewrites {
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
  const first = await tryToConnect(server, options, clock, version);
  if ("sdk" in first) return first;
  if (mayBeHttpSse(server, first.error) && (version === undefined || isEarlier(version))) {
    const overSse = await tryToConnect(server, { ...options, isHttpSse: true }, clock, version ?? "earlier");
    if ("sdk" in overSse) return overSse;
    throw isNoSseServer(overSse.error) ? first.error : overSse.error;
  }
  // Some servers exit on any request before the handshake. A process is started again, without asking for
  // 2026-07-28.
  const isProcess = !(server instanceof URL) && typeof server === "object" && "command" in server;
  if (!isProcess || !first.endedByServer || version !== undefined) throw first.error;
  const second = await tryToConnect(server, options, clock, "earlier");
  if ("sdk" in second) return second;
  throw second.error;
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
  const { clientInfo, capabilities, rewriteOutgoing, rewriteIncoming, prepare, signal, telemetry } = options;
  signal?.throwIfAborted();
  const untraced = connectionTo(server, options, clock);
  const connection = telemetry === undefined ? untraced : tracedConnection(untraced, telemetry.client);
  const requester = new RawRequester(connection, clock);
  const sdk = new Client(clientInfo, { capabilities, ...negotiation(version) });
  prepare(sdk, requester);
  // The SDK ignores signals during negotiation; closing the transport ends it.
  const onAbort = (): void => void requester.close().catch(() => undefined);
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    await sdk.connect(new SdkTransport(requester, { rewriteOutgoing, rewriteIncoming }));
    signal?.throwIfAborted();
    return { sdk, requester, name: connection.name, transport: connection.kind };
  } catch (cause) {
    await requester.close().catch(() => undefined);
    await sdk.close().catch(() => undefined);
    signal?.throwIfAborted();
    const { endedByServer } = requester;
    return { error: connectError(cause, connection.name, endedByServer), endedByServer };
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

function negotiation(
  version: ProtocolVersion | "earlier" | undefined,
): ConstructorParameters<typeof Client>[1] {
  if (version === undefined) return { versionNegotiation: { mode: "auto" } };
  if (version === "earlier") return { versionNegotiation: { mode: "legacy" } };
  if (!hasSessions(version)) return { versionNegotiation: { mode: { pin: version } } };
  return { versionNegotiation: { mode: "legacy" }, supportedProtocolVersions: [version] };
}
