import { isOver } from "../task/expiry.ts";
import { HoldfastError, unknownTask } from "../task/fault.ts";
import type { TaskRecord } from "../task/record.ts";
import type { Sweeper } from "./dispatch/sweeper.ts";
import { encodeValue } from "./stored-values.ts";
import { assertDedupeId, assertEventName } from "./event-name.ts";
import type { TaskEvent } from "./runtime.ts";
import type { Services } from "./services.ts";
import { assertSendable } from "./tool/declared-events.ts";

/** The result of sending an event. */
export interface SentEvent {
  readonly task: TaskRecord;
  /** False if one came before under the same `dedupeId`. */
  readonly isNew: boolean;
  /** The keys of the waits that it ended: one, or none. */
  readonly ended: readonly string[];
}

/** Stores an event for the task, whoever owns it. */
export async function sendEvent(
  { store, clock, options, registry }: Services,
  sweeper: Pick<Sweeper, "ended">,
  id: string,
  { name, value = null, dedupeId, key }: TaskEvent,
): Promise<SentEvent> {
  if (typeof id !== "string") throw new TypeError(`The id of a task must be a string, not ${typeof id}.`);
  assertEventName(name);
  if (dedupeId !== undefined) assertDedupeId(dedupeId);
  const { maxBodyBytes, maxEventsPerTask: limit } = options;
  const what = `The value of the event "${name}"`;
  const raw = encodeValue(value, { what, name: "value", maxBytes: maxBodyBytes });
  const found = await store.get(id);
  if (found === undefined || isOver(found, clock.now())) throw unknownTask();
  await assertSendable(registry.handlerOf(found), name, value);
  await sweeper.ended(found); // it takes no events either where no sweep has come to it yet
  const event = { name, value: raw, dedupeId: dedupeId ?? null, limit, ...(key !== undefined && { key }) };
  const result = await store.write<"send_event">({ type: "send_event", now: clock.now(), id, ...event });
  if (result.ok) {
    const { task, isNew, ended } = result;
    return { task, isNew, ended: ended === null ? [] : [ended] };
  }
  if (result.reason === "unknown") throw unknownTask();
  if (result.reason === "quota") {
    throw new HoldfastError(
      "limit_reached",
      `${limit} events are already waiting for this task, the most that maxEventsPerTask allows: its handler is not taking them.`,
    );
  }
  throw new HoldfastError("finished", "The task has already ended, so it takes no events.");
}
