import type { TaskCommand } from "../../src/task/command.ts";
import { isOpen } from "./model-journal.ts";
import { put, refuse, step, unchanged, type Model, type ModelStep } from "./model-state.ts";
import { changed } from "./model-task.ts";
import { goesOn } from "./model-waiting.ts";

/** An event ends the first wait for it that is still in time, or is kept for a later one; it counts once under its `dedupeId`. */
export function sendEvent(
  model: Model,
  { id, name, value, dedupeId, limit, now }: TaskCommand<"send_event">,
): ModelStep {
  const old = model.tasks.get(id);
  if (old === undefined) return refuse(model, "unknown");
  const { task, journal, events } = old;
  if (task.finishedAt !== null) return refuse(model, "finished");
  if (dedupeId !== null && events.some((event) => event.dedupeId === dedupeId))
    return unchanged(model, { ok: true, task, isNew: false, ended: null });
  const wait = journal.find(
    (entry) =>
      entry.kind === "event" &&
      entry.request === name &&
      isOpen(entry) &&
      (entry.deadlineAt ?? Infinity) > now,
  );
  if (wait === undefined) {
    if (events.filter((event) => event.value !== null).length >= limit) return refuse(model, "quota");
    const raised = { ...task, version: task.version + 1 };
    const kept = { ...old, task: raised, events: [...events, { name, value, dedupeId }] };
    return step(put(model, kept), { ok: true, task: raised, isNew: true, ended: null }, id);
  }
  const next = changed(old, {
    now,
    task: { ...goesOn(task, now), openWaits: task.openWaits - 1, crashes: 0 },
    entries: [{ ...wait, value, doneAt: now, doneVersion: task.version + 1 }],
    ...(dedupeId !== null && { events: [...events, { name, value: null, dedupeId }] }),
  });
  return step(put(model, next), { ok: true, task: next.task, isNew: true, ended: wait.key }, id);
}
