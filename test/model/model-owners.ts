import type { Renewal } from "../../src/store/store.ts";
import type { HandlerName } from "../../src/task/queue.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import type { Model, ModelOwner } from "./model-state.ts";

// Who has the store open, and what that means for the tasks of others.

export function join(model: Model, id: string, handlers: readonly HandlerName[]): Model {
  return withOwner(model, id, { handlers, lives: true, fenced: false, retired: false });
}

/** The owner has closed its store, or has lost its lock; `fenced`: it cannot write from now on. */
export function end(model: Model, id: string, fenced: boolean): Model {
  const owner = model.owners.get(id);
  return owner === undefined ? model : withOwner(model, id, { ...owner, lives: false, fenced });
}

/** What is left of an owner after a page of its tasks was given back. */
export function retire(model: Model, id: string, forget: boolean): Model {
  const owner = model.owners.get(id);
  const tasks = new Map(
    [...model.tasks].map(([taskId, task]) => {
      const messages = task.messages.filter((message) => message.owner !== id);
      return [taskId, { ...task, messages }];
    }),
  );
  if (owner === undefined) return { ...model, tasks };
  if (!forget) return withOwner({ ...model, tasks }, id, { ...owner, fenced: true, retired: true });
  return { ...model, tasks, owners: new Map([...model.owners].filter(([other]) => other !== id)) };
}

export function renewal(model: Model, id: string): Renewal {
  const others = [...model.owners].filter(([other]) => other !== id);
  return {
    held: isHeld(model, id),
    gone: others.flatMap(([other, { lives }]) => (lives ? [] : [other])).sort(),
    others: others.filter(([, { lives }]) => lives).length,
    ...(model.paused.length > 0 && { paused: model.paused }),
  };
}

/** Whether the writes of an owner count. */
export function isHeld(model: Model, id: string): boolean {
  return model.owners.get(id)?.fenced === false;
}

export function isAlive(model: Model, id: string): boolean {
  return model.owners.get(id)?.lives === true;
}

/** Whether an owner may take a task that is queued for another one, or for any: it is left to another one that can run it. */
export function mayTake(model: Model, id: string, task: TaskRecord): boolean {
  if (task.owner === null || task.owner === id) return true;
  const owner = model.owners.get(task.owner);
  return owner === undefined || owner.retired || !runs(owner.handlers, task);
}

export function isServed(model: Model, task: HandlerName): boolean {
  return [...model.owners.values()].some(({ handlers, retired }) => !retired && runs(handlers, task));
}

export function runs(
  handlers: readonly HandlerName[],
  { method, tool }: Pick<TaskRecord, "method" | "tool">,
): boolean {
  return handlers.some((handler) => handler.method === method && handler.tool === tool);
}

function withOwner(model: Model, id: string, owner: ModelOwner): Model {
  return { ...model, owners: new Map(model.owners).set(id, owner) };
}
