import { ProtocolError } from "@modelcontextprotocol/client";
import type { CheckJson } from "../output/json-shapes.ts";
import { throwIfLost } from "../server/lost-connection.ts";
import type { Session } from "../server/with-server.ts";

type ProbeAnswer =
  | { readonly kind: "result"; readonly told: string }
  /** `code` is that of a JSON-RPC error, if it is one. */
  | { readonly kind: "error"; readonly code: number | undefined; readonly told: string };

const anything = {
  "~standard": { version: 1, vendor: "holdfast", validate: (value: unknown) => ({ value }) },
} as const;

/** What a server makes of one request. */
export async function probe(
  { client, signal }: Session,
  method: string,
  params: Readonly<Record<string, unknown>>,
): Promise<ProbeAnswer> {
  try {
    await client.sdk.request({ method, params }, anything, { signal });
    return { kind: "result", told: "a result" };
  } catch (error) {
    signal.throwIfAborted();
    throwIfLost(error);
    const message = error instanceof Error ? error.message : String(error);
    if (!(error instanceof ProtocolError)) return { kind: "error", code: undefined, told: message };
    return { kind: "error", code: error.code, told: `${message} (${error.code})` };
  }
}

/** Whether the server takes a listener. Which of its tasks it pushes then shows with a task only. */
export async function probeListening({ client, signal }: Session): Promise<CheckJson> {
  const check = "pushes";
  try {
    const subscription = await client.sdk.listen({}, { signal });
    await subscription.close();
    return { check, works: true, detail: "the server can be listened to (subscriptions/listen)" };
  } catch (error) {
    signal.throwIfAborted();
    throwIfLost(error);
    const message = error instanceof Error ? error.message : String(error);
    return { check, works: false, detail: `tasks are polled, since subscriptions/listen gave ${message}` };
  }
}
