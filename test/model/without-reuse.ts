import type { Group } from "./model-groups.ts";
import type { Model } from "./model-state.ts";
import type { StoreCommand } from "./model.ts";

/**
 * The groups without commands that would make a task under the id of one that tasks are below, or may be by then: it may be gone, and ids are
 * never used twice, so that stores look tasks up by their ids alone.
 */
export function withoutReuse(model: Model, groups: readonly Group[]): readonly Group[] {
  const linked = new Set<string>();
  for (const { task } of model.tasks.values())
    if (task.parent !== null) linked.add(task.parent.id).add(task.parent.root);
  const calling = (commands: readonly StoreCommand[]): readonly string[] =>
    commands.flatMap((command) => (command.type === "call_tool" ? [command.id] : []));
  return groups.map(({ by, commands }) => {
    const others = groups.filter((group) => group.by !== by).flatMap((group) => calling(group.commands));
    const used = new Set([...linked, ...others]);
    const kept = commands.filter((command) => {
      const made = madeBy(command);
      if (made !== undefined && used.has(made)) return false;
      if (command.type === "call_tool") used.add(command.id);
      return true;
    });
    return { by, commands: kept };
  });
}

function madeBy(command: StoreCommand): string | undefined {
  if (command.type === "create") return command.task.id;
  return command.type === "call_tool" ? command.child.id : undefined;
}
