import type { Delivery } from "../../task/delivery.ts";
import { signatures } from "./signature.ts";

/** A message to send. */
export interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** By Standard Webhooks. The id and the body are the same each time it is sent; the time and the signatures are new. */
export function messageOf(delivery: Delivery, keys: readonly Uint8Array[], now: number): Message {
  const { event, taskId, tool, principal, generation, version, at } = delivery;
  const status = event === "created" ? "working" : event;
  const body = JSON.stringify({
    type: `task.${event}`,
    timestamp: new Date(at).toISOString(),
    data: { taskId, tool, principal, generation, status, version },
  });
  const id = `${taskId}_${version}`;
  const timestamp = Math.floor(now / 1_000);
  return {
    headers: {
      "content-type": "application/json",
      "user-agent": "holdfast",
      "webhook-id": id,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": signatures(keys, { id, timestamp, body }),
    },
    body,
  };
}
