import { HoldfastError } from "../../../task/fault.ts";
import { insideOf } from "../../inside-tasks.ts";
import type { Tasks } from "../../tasks.ts";
import { operatorEndpoint, type OperatorEndpoint } from "../operator-endpoint.ts";
import { EventRequests, type EventHandlerOptions } from "./event-requests.ts";

/**
 * Serves the addresses that `task.waitForEvent` gives as `url`. A POST with JSON ends that wait with the JSON as its value, once: the answer
 * is 204, 400 for a value that the tool does not declare, 410 if nothing waits for it any more, and 503 if the handler does not wait yet.
 * Nobody else is identified: whoever has the address may send. It neither starts nor stops the tasks.
 *
 * ```ts
 * const tasks = createTasks({ store, eventsUrl: "https://example.com/events" });
 * app.use(createEventHandler(tasks));
 * ```
 */
export function createEventHandler(tasks: Tasks, options: EventHandlerOptions = {}): OperatorEndpoint {
  const inside = insideOf(tasks);
  if (inside === undefined) {
    const message = "createEventHandler takes what createTasks returns: createEventHandler(tasks).";
    throw new HoldfastError("configuration", message);
  }
  return operatorEndpoint(new EventRequests(inside, options), inside.onError);
}
