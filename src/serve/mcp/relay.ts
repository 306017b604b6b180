/** Requests that a server answers while the caller waits: what it says is the answer, also an error or a question. */

import { withInputRequired, type RequestOptions } from "@modelcontextprotocol/client";
import {
  CLIENT_CAPABILITIES_META_KEY,
  type CallToolResult,
  type InputRequiredResult,
  type ServerContext,
  type StandardSchemaV1,
  type Tool,
} from "@modelcontextprotocol/server";
import { paramHeaders, readParamHeaders } from "../../client/2026-07-28/generation.ts";
import { plainRead } from "../../client/call/read.ts";
import type { TaskClient } from "../../client/task-client.ts";
import type { Relay } from "../source.ts";
import type { Asker } from "./relayed-questions.ts";
import { failureOf, type Upstream } from "./upstream-call.ts";

/** Methods that a server can answer with a question, since 2026-07-28. */
type Asking = "tools/call" | "prompts/get" | "resources/read";

/**
 * What of a caller's `_meta` the server gets: all callers are one to it. An idempotency key, for one, would find the result of another caller who chose
 * the same.
 */
const passedOn: ReadonlySet<string> = new Set(["traceparent", "tracestate", "baggage"]);

/** Checked by the SDK's server, which passes it on. */
const unchecked = <Result>(): StandardSchemaV1<unknown, Result> => ({
  "~standard": { version: 1, vendor: "holdfast", validate: (value) => ({ value: value as Result }) },
});

/** The calls of a tool. */
export function relayOf(upstream: Upstream, { name, inputSchema }: Tool): Relay {
  const headers = readParamHeaders(inputSchema) ?? [];
  return async ({ arguments: args }, context) => {
    const { signal } = context.mcpReq;
    try {
      const { sdk } = await upstream.client(signal);
      const params = { name, ...(args && { arguments: args }) };
      const call = () =>
        relayed<CallToolResult>(sdk, "tools/call", params, context, { headers: paramHeaders(headers, args) });
      return await upstream.questions.duringCall(askerOf(context), call);
    } catch (error) {
      signal.throwIfAborted();
      throw failureOf(error, upstream, name);
    }
  };
}

/**
 * The server's answer to a request of a caller, whose answers to questions it gets, and who gets its reports of progress. Rejects with a
 * `TaskClientError`.
 */
export async function relayed<Result>(
  sdk: TaskClient["sdk"],
  method: Asking,
  params: Record<string, unknown>,
  { mcpReq }: ServerContext,
  options: RequestOptions = {},
): Promise<Result | InputRequiredResult> {
  const { inputResponses, signal } = mcpReq;
  const { progressToken, ...given } = mcpReq._meta ?? {};
  const meta: Record<string, unknown> = Object.fromEntries(
    Object.entries(given).filter(([name]) => passedOn.has(name)),
  );
  // The server asks what the caller's client can answer.
  const { [CLIENT_CAPABILITIES_META_KEY]: capabilities } = { ...mcpReq.envelope } as Record<string, unknown>;
  if (capabilities !== undefined) meta[CLIENT_CAPABILITIES_META_KEY] = capabilities;
  const requestState = mcpReq.requestState<string>();
  const request = {
    method,
    params: {
      ...params,
      ...(inputResponses && { inputResponses }),
      ...(requestState !== undefined && { requestState }),
      ...(Object.keys(meta).length > 0 && { _meta: meta }),
    },
  };
  const onprogress: RequestOptions["onprogress"] = (progress) => {
    if (progressToken === undefined) return;
    const said = { method: "notifications/progress", params: { ...progress, progressToken } };
    mcpReq.notify(said).catch(() => undefined); // the caller has gone
  };
  return plainRead(
    async (how) =>
      sdk.request(request, withInputRequired(unchecked<Result>()), {
        ...how,
        ...options,
        ...(progressToken !== undefined && { onprogress }),
        allowInputRequired: true,
      }),
    signal,
  );
}

/** Puts the questions that a server of before 2026-07-28 sends during a call to the client of the call, as they are. */
function askerOf({ mcpReq }: ServerContext): Asker {
  const { signal } = mcpReq;
  return async ({ method, params }) => {
    const question = { method, params: { ...params } };
    return plainRead(
      async (how) => mcpReq.send(question, unchecked<Awaited<ReturnType<Asker>>>(), how),
      signal,
    );
  };
}
