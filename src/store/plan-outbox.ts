import type { CommandResult, TaskCommand } from "../task/command.ts";
import {
  deliveriesOf,
  deliveriesOfDeleted,
  deliveryOfStatus,
  type Delivery,
  type DeliveryCommands,
} from "../task/delivery.ts";
import type { Decision } from "../task/decide.ts";
import type { TaskRecord } from "../task/record.ts";
import { storable } from "../task/time.ts";
import type { Facts } from "./facts.ts";
import type { OutboxWrite } from "./outbox.ts";
import type { Plan, TableWrite } from "./table-write.ts";

type OutboxCommand = TaskCommand<keyof DeliveryCommands>;

/** Decides changes of deliveries. They change no task. */
export function planOutbox(command: OutboxCommand, { deliveries = [], excess = [], task }: Facts): Plan {
  switch (command.type) {
    case "claim_deliveries": {
      const until = storable(command.until);
      const taken = deliveries.map((each) => ({ ...each, tries: each.tries + 1, dueAt: until }));
      const writes = taken.map(({ seq }) => ({ do: "claim_delivery", seq, until }) as const);
      return planned({ ok: true, deliveries: taken }, writes);
    }
    case "end_delivery":
      return planned({ ok: true }, [{ do: "end_delivery", seq: command.seq, tries: command.tries }]);
    case "retry_delivery": {
      const { seq, tries, problem, now, unsent = false } = command;
      const at = command.at === null ? null : storable(command.at);
      const failure = problem === null ? undefined : { at: now, problem };
      return planned({ ok: true }, [{ do: "retry_delivery", seq, tries, at, unsent, failure }]);
    }
    case "resend_deliveries": {
      const writes = deliveries.map(({ seq }) => ({ do: "resend_delivery", seq, now: command.now }) as const);
      return planned({ ok: true, resent: writes.length }, writes);
    }
    case "repeat_delivery": {
      const delivery = task && deliveryOfStatus(task, command.hook);
      const writes = delivery === undefined ? [] : [{ do: "keep_delivery", delivery } as const];
      return planned({ ok: true, repeated: delivery !== undefined }, writes);
    }
    case "trim_deliveries": {
      const writes = excess.map((seq) => ({ do: "drop_delivery", seq }) as const);
      return planned({ ok: true, dropped: writes.length }, writes);
    }
  }
}

function planned(result: CommandResult, writes: readonly OutboxWrite[]): Plan {
  return { result, writes: writes.map((write) => ({ do: "write_outbox", write })), changes: [] };
}

/** The deliveries for a new task. */
export function deliveriesForNew(task: TaskRecord): readonly TableWrite[] {
  return kept(deliveriesOf(undefined, task));
}

/** The deliveries for changes, each of one of the tasks as they were before. */
export function deliveryWrites(
  before: readonly (TaskRecord | undefined)[],
  decisions: readonly Decision[],
): readonly TableWrite[] {
  return decisions.flatMap(({ task }) => {
    if (task.notifies === undefined) return [];
    const old = before.find((each) => each?.id === task.id);
    return old === undefined ? [] : kept(deliveriesOf(old, task));
  });
}

/** The deliveries for a task that is deleted early. */
export function deliveriesForDeleted(task: TaskRecord | undefined, now: number): readonly TableWrite[] {
  return task?.notifies === undefined ? [] : kept(deliveriesOfDeleted(task, now));
}

function kept(deliveries: readonly Delivery[]): readonly TableWrite[] {
  return deliveries.map((delivery) => ({ do: "write_outbox", write: { do: "keep_delivery", delivery } }));
}
