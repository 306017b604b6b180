import type { RequestId } from "@modelcontextprotocol/server";

const prefix = "holdfast-replay-";

/** The request id used to replay to a server what the client of a session has set in another process. */
export function replayId(number: number): string {
  return `${prefix}${number}`;
}

export function isReplay(id: RequestId | undefined): boolean {
  return typeof id === "string" && id.startsWith(prefix);
}
