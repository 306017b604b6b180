import { decide, type Decision, type TaskChangeCommand } from "../task/decide.ts";
import type { JournalEntry } from "../task/journal.ts";
import type { TaskRecord } from "../task/record.ts";
import { isTerminal } from "../task/outcome.ts";
import type { Facts } from "./facts.ts";
import { deliveryWrites } from "./plan-outbox.ts";
import { changesOfRelatives } from "./relatives.ts";
import type { Plan, TableWrite } from "./table-write.ts";

/** Decides a command about one task. */
export function change(command: TaskChangeCommand, facts: Facts): Plan {
  const { task: before, entries, served, held, owner, awaitedBy = [] } = facts;
  const entry = (key: string): JournalEntry | undefined => entries.get(key);
  const circumstances = { owner, entry, hasHandler: served === true, awaitedBy };
  const decision = decide(before, command, circumstances);
  if (!decision.ok) return { result: decision, writes: [], changes: [] };
  const { task, journal } = decision;
  const effect =
    before === undefined || task.version === before.version
      ? nothing
      : effectOf(before, command, decision, facts);
  switch (command.type) {
    case "answer_inputs":
      return { result: { ok: true, task, accepted: journal.map(({ key }) => key) }, ...effect };
    case "cancel": {
      const released = before?.journalled === true && held !== true;
      return { result: { ok: true, task, released }, ...effect };
    }
    default:
      return { result: { ok: true, task }, ...effect };
  }
}

type Effect = Pick<Plan, "writes" | "changes">;

const nothing: Effect = { writes: [], changes: [] };

/** The effect on the task and its relatives. */
function effectOf(
  before: TaskRecord,
  command: TaskChangeCommand,
  decision: Decision,
  { relatives, owner }: Facts,
): Effect {
  const own = ownEffect(decision);
  if (relatives === undefined) {
    const deliveries = deliveryWrites([before], [decision]);
    return deliveries.length === 0 ? own : { ...own, writes: [...own.writes, ...deliveries] };
  }
  const around = changesOfRelatives(before, command, decision, relatives, { owner });
  const others = saving(around);
  const changed = others.changes.map((each) => ({ ...each, isRelative: true as const }));
  const deliveries = deliveryWrites([before, relatives.root, relatives.parent], [...around, decision]);
  return { writes: [...others.writes, ...own.writes, ...deliveries], changes: [...changed, ...own.changes] };
}

/** A child is deleted as soon as it ends. */
function ownEffect(decision: Decision): Effect {
  const { id, parent, state } = decision.task;
  if (parent === null || !isTerminal(state)) return saving([decision]);
  return { writes: [{ do: "remove", id, isChild: true }], changes: [{ id, version: null }] };
}

/** The writes of decisions, and the changes to report. */
export function saving(decisions: readonly Decision[]): Effect {
  return {
    writes: decisions.flatMap(({ task, journal, outcome, forgets, lines }): TableWrite[] => [
      { do: "save", task, journal, outcome, ...(forgets && { forgets }) },
      ...(lines === undefined
        ? []
        : [{ do: "append_lines" as const, id: task.id, lines: lines.add, forget: lines.forget }]),
    ]),
    changes: decisions.map(({ task: { id, version } }) => ({ id, version })),
  };
}
