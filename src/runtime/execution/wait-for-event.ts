import { HoldfastError } from "../../task/fault.ts";
import type { JournalEnd, JournalHead, JournalKey } from "../../task/journal.ts";
import { assertDuration } from "../duration.ts";
import type { OutsideWaits } from "../journal/outside-waits.ts";
import type { Run } from "../journal/run.ts";
import { isSameHash, storedHash, type HashingStore, type StoredHash } from "../request-hash.ts";
import { decodeError } from "../tool/tool-errors.ts";
import type { EventOptions } from "../tool/task-context.ts";

/** Resolves with the value of an event of this name, which no other wait gets. A wait that has ended takes no further event. */
export async function waitForEvent(
  { store, run, waits }: { readonly store: HashingStore; readonly run: Run; readonly waits: OutsideWaits },
  key: JournalKey,
  name: string,
  { timeoutMs }: EventOptions,
): Promise<unknown> {
  if (timeoutMs !== undefined) assertDuration(timeoutMs);
  const claimed = run.claim(key);
  const hash = storedHash(store, "event", name);
  const entry = run.find(claimed);
  if (entry !== undefined) assertSameWait(entry, name, hash);
  if (entry !== undefined && entry.doneAt !== null) return run.replayed(entry, valueOf);
  const wait = {
    key: claimed,
    entry,
    command: "wait_event",
    begin: (deadlineAt: number | null) => ({ key: claimed, name, requestHash: hash.value, deadlineAt }),
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
  return JSON.parse(value ?? "null");
}

function assertSameWait(entry: JournalHead, name: string, hash: StoredHash): void {
  if (entry.kind === "event" && isSameHash(hash, entry.requestHash)) return;
  const other = entry.kind === "event" ? "a wait for a different event" : `a different entry (${entry.kind})`;
  throw new HoldfastError(
    "replay_mismatch",
    `The journal has ${other} under the key "${entry.key}", but the handler now waits for the event "${name}". Use a new key for a changed wait.`,
  );
}
