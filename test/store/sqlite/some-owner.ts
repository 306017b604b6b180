import { randomUUID } from "node:crypto";
import type { StoreOwner } from "../../../src/task/queue.ts";
import { aHandler } from "../../../src/testing/sample-task.ts";

/** An owner that runs the samples, and that nobody else is. */
export function someOwner(): StoreOwner {
  return { id: randomUUID(), handlers: [aHandler] };
}
