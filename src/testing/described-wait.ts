import type { StoredTask } from "../store/memory/stored-task.ts";
import type { JournalEntry } from "../task/journal.ts";
import { latestTime } from "../task/time.ts";
import { timeSpanOf } from "../task/time-span.ts";

/** What an idle task waits for, and what a test should do about it. */
export function describedWait({ record, journal }: StoredTask, now: number): string {
  const task = `Task ${record.id} of "${record.tool}"`;
  const open = [...journal.values()].filter(({ doneAt }) => doneAt === null);
  const waits = open.flatMap((entry) => waitOf(entry, now) ?? []);
  const { state, runAfter } = record;
  if (
    waits.length === 0 &&
    state === "queued" &&
    runAfter !== null &&
    runAfter < latestTime &&
    runAfter > now
  ) {
    waits.push(`pauses before it runs again${after(runAfter, now)}`);
  }
  return waits.length === 0 ? `${task} is ${state}.` : `${task} ${waits.join("; ")}.`;
}

function waitOf(
  { key, kind, request, deadlineAt, tries, error }: JournalEntry,
  now: number,
): string | undefined {
  const name = JSON.stringify(key);
  switch (kind) {
    case "input":
      return `waits for the answer to ${name}: await task.answer(${name}, …)`;
    case "event":
      return `waits for the event "${request}" (${name}): await task.sendEvent("${request}", …)`;
    case "call":
      return `waits for the call ${name} of tool "${request}"`;
    case "sleep":
      return `sleeps (${name})${after(deadlineAt, now)}`;
    case "step":
      return `tries step ${name} again, which failed${tries === 1 ? "" : ` ${tries} times`} (${messageOf(error)})${after(deadlineAt, now)}`;
  }
}

function after(at: number | null, now: number): string {
  const ms = Math.max(0, (at ?? now) - now);
  return `, in ${timeSpanOf(ms)}: await t.clock.advance("${timeSpanOf(ms)}")`;
}

function messageOf(error: string | null): string {
  const parsed: unknown = error === null ? undefined : JSON.parse(error);
  const hasMessage = typeof parsed === "object" && parsed !== null && "message" in parsed;
  return hasMessage ? String(parsed.message) : String(error);
}
