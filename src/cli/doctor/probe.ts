import { ProtocolError } from "@modelcontextprotocol/client";
import { describeRpcError } from "../../client/reply/reply.ts";
import type { CheckJson } from "../output/json-shapes.ts";
import { throwIfLost } from "../server/sdk-errors.ts";
import type { Session } from "../server/with-server.ts";

type ProbeAnswer =
  | { readonly kind: "result"; readonly description: string }
  /** `code`: the JSON-RPC code, if it is a JSON-RPC error. */
  | { readonly kind: "error"; readonly code: number | undefined; readonly description: string };

const anything = {
  "~standard": { version: 1, vendor: "holdfast", validate: (value: unknown) => ({ value }) },
} as const;

/** Sends one request, and describes the answer. */
export async function probe(
  { client, signal }: Session,
  method: string,
  params: Readonly<Record<string, unknown>>,
): Promise<ProbeAnswer> {
  try {
    await client.sdk.request({ method, params }, anything, { signal });
    return { kind: "result", description: "a result" };
  } catch (error) {
    signal.throwIfAborted();
    throwIfLost(error);
    if (error instanceof ProtocolError)
      return { kind: "error", code: error.code, description: describeRpcError(error) };
    const description = error instanceof Error ? error.message : String(error);
    return { kind: "error", code: undefined, description };
  }
}

/** Whether the server accepts `subscriptions/listen`. Only a real task shows which tasks it pushes. */
export async function probeListening({ client, signal }: Session): Promise<CheckJson> {
  const check = "pushes";
  try {
    const subscription = await client.sdk.listen({}, { signal });
    await subscription.close();
    return { check, works: true, detail: "the server pushes updates (subscriptions/listen)" };
  } catch (error) {
    signal.throwIfAborted();
    throwIfLost(error);
    const message = error instanceof Error ? error.message : String(error);
    return { check, works: false, detail: `tasks are polled, since subscriptions/listen gave ${message}` };
  }
}
