import { plainRead } from "../../client/call/read.ts";
import type { RequestOptions } from "@modelcontextprotocol/client";

/** A request by the SDK's client, within its time limit. Rejects with a TaskClientError. */
export async function request<Result>(
  send: (options: RequestOptions) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  return plainRead(async () => send({ signal }), signal);
}
