import type { Refusal, TaskCommand } from "../task/command.ts";
import { createRecord } from "../task/create-record.ts";
import { decide } from "../task/decide.ts";
import type { JournalEntry } from "../task/journal.ts";
import type { ParentTask } from "../task/record.ts";
import type { Facts } from "./facts.ts";
import { saving } from "./plan-change.ts";
import type { Plan, TableWrite } from "./table-write.ts";

/** Adds the call to the journal together with the task that is made for it. */
export function callTool(command: TaskCommand<"call_tool">, { task: before, entries, owner }: Facts): Plan {
  const decision = decide(before, command, { owner, entry: lookUp(entries) });
  if (!decision.ok) return refused(decision.reason);
  const { task } = decision;
  const { key, child, request, now, cancelGraceMs } = command;
  const parent: ParentTask = { id: task.id, key, root: task.parent?.root ?? task.id, cancelGraceMs };
  const made = createRecord({ task: child, token: null, now, forAnyOwner: true }, owner, parent);
  const { writes, changes } = saving([decision]);
  return {
    result: { ok: true, task },
    // The insert comes first, since it can fail.
    writes: [{ do: "insert", task: made, request }, ...writes],
    changes: [...changes, { id: made.id, version: made.version, isRelative: true }],
  };
}

/** Takes an earlier event at once. */
export function waitForEvent(
  command: TaskCommand<"wait_event">,
  { task: before, entries, owner, event }: Facts,
): Plan {
  const kept = event?.kept;
  const decision = decide(before, command, { owner, entry: lookUp(entries), keptEvent: kept?.value });
  if (!decision.ok) return refused(decision.reason);
  const { task } = decision;
  const { writes, changes } = saving([decision]);
  const take: TableWrite[] = kept === undefined ? [] : [{ do: "take_event", taskId: task.id, seq: kept.seq }];
  return { result: { ok: true, task }, writes: [...writes, ...take], changes };
}

/** An event ends a wait, or is kept. Either way it is stored, so that its `dedupeId` is recognised when it comes again. */
export function sendEvent(
  command: TaskCommand<"send_event">,
  { task: before, entries, owner, event }: Facts,
): Plan {
  const { wait, isKnown = false, count = 0 } = event ?? {};
  const decision = decide(before, command, { owner, entry: lookUp(entries), eventWait: wait });
  if (!decision.ok) return refused(decision.reason);
  if (isKnown && before !== undefined) {
    return { result: { ok: true, task: before, isNew: false, ended: null }, writes: [], changes: [] };
  }
  if (wait === undefined && count >= command.limit) return refused("quota");
  const { id: taskId, name, value, dedupeId } = command;
  const { task } = decision;
  const taken = wait !== undefined;
  const { writes, changes } = taken ? saving([decision]) : { writes: [], changes: [] };
  const keep: TableWrite = { do: "keep_event", taskId, name, value, dedupeId, taken };
  const isKept = !taken || dedupeId !== null;
  return {
    result: { ok: true, task, isNew: true, ended: wait?.key ?? null },
    writes: isKept ? [...writes, keep] : writes,
    changes,
  };
}

function lookUp(entries: Facts["entries"]): (key: string) => JournalEntry | undefined {
  return (key) => entries.get(key);
}

function refused(reason: Refusal): Plan {
  return { result: { ok: false, reason }, writes: [], changes: [] };
}
