import type { ClientCapabilities, Implementation, JSONRPCMessage } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/client";
import type { ClientClock } from "../clock.ts";
import type { ConnectOptions, ProtocolVersion } from "../connect-options.ts";
import { connectError } from "./connect-error.ts";
import { lineTo, type ServerTarget } from "./line.ts";
import { RawRequester } from "./raw-requester.ts";

export interface OpenOptions extends ConnectOptions {
  readonly clientInfo: Implementation;
  readonly capabilities: ClientCapabilities;
  /** A last look at what the SDK's own client sends. */
  readonly amend: (message: JSONRPCMessage) => JSONRPCMessage;
  /** A first look at what it is given. */
  readonly admit: (message: JSONRPCMessage) => JSONRPCMessage;
  /** Gives the SDK's client and the requests beside it what they have to have before the first message. */
  readonly prepare: (sdk: Client, requester: RawRequester) => void;
}

export interface Opened {
  readonly sdk: Client;
  readonly requester: RawRequester;
  /** How task references name the server. */
  readonly name: string;
}

/**
 * Connects: in protocol 2026-07-28 where the server has it, else with the handshake of earlier revisions. Rejects with
 * a TaskClientError, and with the signal's reason.
 */
export async function openConnection(
  server: ServerTarget,
  options: OpenOptions,
  clock: ClientClock,
): Promise<Opened> {
  const { protocolVersion, generation } = options;
  const version = protocolVersion ?? (generation === undefined ? undefined : "earlier");
  const first = await tryTo(server, options, clock, version);
  if ("sdk" in first) return first;
  // Some servers end on any request before the handshake: a process can be started again, and not be asked.
  const isProcess = !(server instanceof URL) && typeof server === "object" && "command" in server;
  if (!isProcess || !first.endedThere || version !== undefined) throw first.error;
  const second = await tryTo(server, options, clock, "earlier");
  if ("sdk" in second) return second;
  throw second.error;
}

interface Failed {
  readonly error: unknown;
  readonly endedThere: boolean;
}

async function tryTo(
  server: ServerTarget,
  options: OpenOptions,
  clock: ClientClock,
  version: ProtocolVersion | "earlier" | undefined,
): Promise<Opened | Failed> {
  const { clientInfo, capabilities, amend, admit, prepare, signal } = options;
  const line = lineTo(server, options, clock);
  const requester = new RawRequester(line, { clock, amend, admit });
  const sdk = new Client(clientInfo, { capabilities, ...negotiation(version) });
  prepare(sdk, requester);
  // The SDK does not look at a signal while it negotiates, but a closed transport ends that.
  const onAbort = (): void => void requester.close().catch(() => undefined);
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    await sdk.connect(requester);
    signal?.throwIfAborted();
    return { sdk, requester, name: line.name };
  } catch (cause) {
    await requester.close().catch(() => undefined);
    await sdk.close().catch(() => undefined);
    signal?.throwIfAborted();
    const { endedThere } = requester;
    return { error: connectError(cause, line.name, endedThere), endedThere };
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

function negotiation(
  version: ProtocolVersion | "earlier" | undefined,
): ConstructorParameters<typeof Client>[1] {
  if (version === undefined) return { versionNegotiation: { mode: "auto" } };
  if (version === "earlier") return { versionNegotiation: { mode: "legacy" } };
  if (version >= "2026") return { versionNegotiation: { mode: { pin: version } } };
  return { versionNegotiation: { mode: "legacy" }, supportedProtocolVersions: [version] };
}
