/**
 * How long a call of a client without tasks waits before it gets a ticket. A ticket that comes too late is lost; one that comes too early
 * costs the model another turn.
 * - What the tool or the server sets (`plainDeadlineMs`) holds for every host.
 * - Otherwise it is three quarters of what the host is known to wait: by the server's `hostTimeoutsMs`, or by the table below. Of a host
 *   that nobody knows, 45 seconds.
 * - A session whose client gave up earlier gets its tickets earlier from then on. That is not stored, and ends with the connection.
 */

import { millisecondsOf, type TimeSpan } from "../../task/time.ts";
import { isJsonObject } from "../../generation/message.ts";

/** By the name of a host, how long it waits for a call. */
export type HostTimeouts = Readonly<Record<string, TimeSpan>>;

export function areHostTimeouts(given: unknown): boolean {
  if (!isJsonObject(given)) return false;
  try {
    for (const span of Object.values(given)) millisecondsOf(span as TimeSpan);
    return true;
  } catch {
    return false;
  }
}

/** What a client says of itself. */
export interface ClientName {
  readonly name: string;
  readonly version: string;
}

/** Nearly all clients wait for a minute. */
const usualDeadlineMs = 45_000;

interface KnownHost {
  readonly name: RegExp;
  /** The first version of which that is known. */
  readonly since?: string;
  readonly waitsMs: number;
}

/** Where the figures come from is in docs/reference/hosts.md. */
const knownHosts: readonly KnownHost[] = [
  { name: /^claude-code$/i, since: "2.1.212", waitsMs: 120_000 },
  { name: /^codex-mcp-client$/i, waitsMs: 120_000 },
  { name: /^cursor-vscode$/i, since: "1.4.5", waitsMs: 300_000 },
  // No limit of their own, but that of `fetch` in Node: five minutes without a byte.
  { name: /^visual studio code\b/i, waitsMs: 300_000 },
  { name: /^gemini-cli-mcp-client/i, waitsMs: 300_000 },
];

/** What the client named itself in `clientInfo`. */
export function clientNameIn(clientInfo: unknown): ClientName | undefined {
  if (!isJsonObject(clientInfo) || typeof clientInfo["name"] !== "string") return undefined;
  const { name, version } = clientInfo;
  return { name, version: typeof version === "string" ? version : "" };
}

/** How long it waits before it gets a ticket, unless that was set (ms). */
export function deadlineOfHost(client: ClientName | undefined, timeouts: HostTimeouts): number {
  if (client === undefined) return usualDeadlineMs;
  const set = Object.hasOwn(timeouts, client.name) ? timeouts[client.name] : undefined;
  if (set !== undefined) return threeQuarters(millisecondsOf(set));
  const known = knownHosts.find(({ name, since }) => name.test(client.name) && isSince(client, since));
  return known === undefined ? usualDeadlineMs : threeQuarters(known.waitsMs);
}

function isSince({ version }: ClientName, since = "0"): boolean {
  return version.localeCompare(since, "en", { numeric: true }) >= 0;
}

function threeQuarters(ms: number): number {
  return Math.floor((ms * 3) / 4);
}

/** A client that leaves sooner did not run out of time. */
const shortestWaitMs = 4_000;

/** When the client of one session was seen to give up. */
export class SeenPatience {
  #shortest = Infinity;

  /** It ran out of time after so long. */
  gaveUp(afterMs: number): void {
    if (afterMs >= shortestWaitMs) this.#shortest = Math.min(this.#shortest, afterMs);
  }

  /** The deadline, or an earlier one. */
  within(deadlineMs: number): number {
    return Math.min(deadlineMs, threeQuarters(this.#shortest));
  }
}
