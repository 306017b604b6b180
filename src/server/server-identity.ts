import type { McpServer } from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../generation/message.ts";
import { HoldfastError } from "../task/fault.ts";
import { askServer } from "./author-server.ts";

/** Maximum number of principals whose answer is remembered; above it, the oldest is asked for again. */
const mostPrincipals = 10_000;

/** The name and version that the author's server gives itself. */
export interface AuthorIdentity {
  /** Its name and version. */
  readonly serverInfo: JsonObject;
  /** Whether it declares `logging`: its clients may want log messages. */
  readonly logs: boolean;
}

/** Of the `capabilities` that a server declares. */
export function authorIdentity(serverInfo: JsonObject, capabilities: unknown): AuthorIdentity {
  return { serverInfo, logs: isJsonObject(capabilities) && isJsonObject(capabilities["logging"]) };
}

/**
 * The name and version of the author's server, which each result of 2026-07-28 repeats. A factory may make another server for each caller,
 * or none. So it runs once for each principal, and no one waits for another principal's.
 */
export class ServerIdentity {
  readonly #known = new Map<string | null, AuthorIdentity>();

  /** Undefined before the author's server was asked for this principal. */
  known(principal: string | null): AuthorIdentity | undefined {
    return this.#known.get(principal);
  }

  /** Rejects as `ask` does; then the next call asks again. */
  async learn(principal: string | null, ask: () => Promise<AuthorIdentity>): Promise<AuthorIdentity> {
    const known = this.#known.get(principal);
    if (known !== undefined) return known;
    const learned = await ask();
    for (const oldest of this.#known.keys()) {
      if (this.#known.size < mostPrincipals) break;
      this.#known.delete(oldest);
    }
    this.#known.set(principal, learned);
    return learned;
  }
}

/** Asks a server that is not connected. */
export async function identityOf(mcp: McpServer): Promise<AuthorIdentity> {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "", version: "" } };
  const result = await askServer(mcp, "initialize", params);
  if (isJsonObject(result) && isJsonObject(result["serverInfo"]))
    return authorIdentity(result["serverInfo"], result["capabilities"]);
  throw new HoldfastError("internal", "The server did not give its name when it was initialized.");
}
