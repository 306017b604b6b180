import type { ClientCapabilities, JSONRPCMessage } from "@modelcontextprotocol/client";
import { generation as coreName } from "../generation/2025-11-25.ts";
import { generation as extensionName } from "../generation/2026-07-28.ts";
import { isWireGeneration, wireGenerations, type WireGenerationName } from "../generation/generations.ts";
import { generation as sepName } from "../generation/sep-1686.ts";
import { core } from "./2025-11-25/generation.ts";
import { extension } from "./2026-07-28/generation.ts";
import type { Caller, ClientGeneration, PreparedGeneration, ProtocolParts } from "./generation.ts";
import { sep } from "./sep-1686/generation.ts";
import type { MakeReceivedTasks } from "./session/receiver/receiver.ts";
import type { TaskProtocol } from "./task-protocol.ts";

/** The generations of tasks that this client supports. Each is an entry here, and a folder. */
export const clientGenerations: Readonly<Record<WireGenerationName, ClientGeneration>> = {
  [extensionName]: extension,
  [coreName]: core,
  [sepName]: sep,
};

/** The generation that a stored call names; undefined for one that only another version knows. */
export function generationNamed(name: string): ClientGeneration | undefined {
  return isWireGeneration(name) ? clientGenerations[name] : undefined;
}

const names = Object.keys(wireGenerations) as readonly WireGenerationName[];

function forEach<Value>(
  of: (generation: ClientGeneration) => Value,
): Readonly<Record<WireGenerationName, Value>> {
  const values = names.map((name): [string, Value] => [name, of(clientGenerations[name])]);
  return Object.fromEntries(values) as Record<WireGenerationName, Value>;
}

/** The capabilities, with what each generation adds on any connection. */
export function declaredCapabilities(own: ClientCapabilities, listen: boolean): ClientCapabilities {
  return names.reduce(
    (declared, name) => clientGenerations[name].declared?.(declared, listen) ?? declared,
    own,
  );
}

/** All generations on one connection, while it is unknown which one it uses. */
export class PreparedGenerations {
  readonly #prepared: Readonly<Record<WireGenerationName, PreparedGeneration>>;

  constructor(caller: Caller) {
    this.#prepared = forEach((generation) => generation.prepare(caller));
  }

  rewriteOutgoing(message: JSONRPCMessage): JSONRPCMessage {
    const all = Object.values(this.#prepared);
    return all.reduce((changed, { rewriteOutgoing }) => rewriteOutgoing?.(changed) ?? changed, message);
  }

  rewriteIncoming(message: JSONRPCMessage): JSONRPCMessage {
    const all = Object.values(this.#prepared);
    return all.reduce((changed, { rewriteIncoming }) => rewriteIncoming?.(changed) ?? changed, message);
  }

  /** Starts to use one of them. */
  protocol(name: WireGenerationName, parts: ProtocolParts): TaskProtocol {
    return this.#prepared[name].protocol(parts);
  }
}

/** What creates the tasks that this client runs for servers, for each generation that has them. */
export type LoadedReceiving = Readonly<Record<WireGenerationName, MakeReceivedTasks | undefined>>;

export async function loadReceiving(): Promise<LoadedReceiving> {
  const loading = forEach(async ({ receiving }) => receiving?.load());
  const loaded = await Promise.all(names.map(async (name) => [name, await loading[name]] as const));
  return Object.fromEntries(loaded) as Record<WireGenerationName, MakeReceivedTasks | undefined>;
}
