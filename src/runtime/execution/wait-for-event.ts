import type { Read } from "../../options/options.ts";
import { HoldfastError, unknownTask } from "../../task/fault.ts";
import type { JournalEnd, JournalKey } from "../../task/journal.ts";
import { requestHash } from "../call-keys.ts";
import { decodeError, decodeValue, encodeValue } from "../stored-values.ts";
import {
  assertAwaitable,
  assertSendable,
  receivedEvent,
  assertDedupeId,
  assertEventName,
} from "../tool/declared-events.ts";
import type { EventOptions } from "../tool/task-context.ts";
import type { TaskRecord } from "../../task/record.ts";
import { isGone, type Sweeper } from "../dispatch/sweeper.ts";
import type { TaskEvent } from "../runtime.ts";
import type { Services } from "../services.ts";
import type { Attempt } from "./attempt.ts";

/** Resolves with the value of an event of this name, which no other wait gets. A wait that has ended takes no further event. */
export async function waitForEvent(
  attempt: Attempt,
  key: JournalKey,
  name: string,
  options: Read<EventOptions>,
): Promise<unknown> {
  const { events } = attempt.tool;
  if (!attempt.isHeld)
    await attempt.becomeTask('no event can be sent to it. Remove task: "forbidden" from it.');
  assertAwaitable(attempt.tool, name);
  const value = untilEvent(attempt, key, name, options);
  return events === undefined ? value : receivedEvent(events, name, await value);
}

async function untilEvent(
  attempt: Attempt,
  key: JournalKey,
  name: string,
  { timeoutMs }: Read<EventOptions>,
): Promise<unknown> {
  const { run } = attempt;
  const claimed = run.claim(key);
  const hash = requestHash("event", name);
  const entry = run.find(claimed, { kind: "event", requestHash: hash, request: name });
  if (entry !== undefined && entry.doneAt !== null) return run.replayed(entry, valueOf);
  const wait = {
    key: claimed,
    entry,
    command: "wait_event",
    begin: (deadlineAt: number | null) => ({ key: claimed, name, requestHash: hash, deadlineAt }),
    text: name,
    timeoutMs,
    mustEndInTime: `The wait "${claimed}" for the event "${name}"`,
    late: () =>
      new HoldfastError(
        "event_timeout",
        `The event "${name}" did not arrive in time for the wait "${claimed}".`,
      ),
  } as const;
  return attempt.until(wait, valueOf);
}

function valueOf({ value, error }: JournalEnd): unknown {
  if (error !== null) throw decodeError(error);
  return decodeValue(value ?? "null");
}

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
  if (found === undefined || isGone(found, clock)) throw unknownTask();
  await assertSendable(registry.handlerOf(found), name, value);
  await sweeper.ended(found); // it takes no events either where no sweep has come to it yet
  const event = { name, value: raw, dedupeId: dedupeId ?? null, limit, ...(key !== undefined && { key }) };
  const result = await store.write<"send_event">({
    type: "send_event",
    now: clock.now(),
    past: clock.pastForAll,
    id,
    ...event,
  });
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
