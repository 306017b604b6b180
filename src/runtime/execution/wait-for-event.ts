import type { Read } from "../../options/options.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { JournalEnd, JournalKey } from "../../task/journal.ts";
import type { OutsideWaits } from "../journal/outside-waits.ts";
import type { Run } from "../journal/run.ts";
import { requestHash } from "../request-hash.ts";
import { decodeError, decodeValue } from "../stored-values.ts";
import { assertAwaitable, receivedEvent } from "../tool/declared-events.ts";
import type { EventOptions } from "../tool/task-context.ts";
import type { Tool } from "../tool/tool.ts";

/** Resolves with the value of an event of this name, which no other wait gets. A wait that has ended takes no further event. */
export async function waitForEvent(
  waiting: { readonly run: Run; readonly waits: OutsideWaits; readonly tool: Tool },
  key: JournalKey,
  name: string,
  options: Read<EventOptions>,
): Promise<unknown> {
  const { events } = waiting.tool;
  assertAwaitable(waiting.tool, name);
  const value = untilEvent(waiting, key, name, options);
  return events === undefined ? value : receivedEvent(events, name, await value);
}

async function untilEvent(
  { run, waits }: { readonly run: Run; readonly waits: OutsideWaits },
  key: JournalKey,
  name: string,
  { timeoutMs }: Read<EventOptions>,
): Promise<unknown> {
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
  return waits.until(wait, valueOf);
}

function valueOf({ value, error }: JournalEnd): unknown {
  if (error !== null) throw decodeError(error);
  return decodeValue(value ?? "null");
}
