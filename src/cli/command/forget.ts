import type { Context } from "../context.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import { UsageError } from "../errors.ts";
import type { ForgottenJson } from "../output/json-shapes.ts";
import type { KnownTask } from "../state/state.ts";

interface ForgetCommand {
  readonly ids: readonly string[];
  /** Forgets the tasks that their servers did not know when they were last asked. */
  readonly options: { readonly lost?: true };
}

/** `holdfast forget ID…`: removes tasks from the list, for example when their server is gone. */
export async function forget(
  { state, output }: Context,
  { ids, options: { lost } }: ForgetCommand,
): Promise<ExitCode> {
  if (ids.length > 0 === (lost === true))
    throw new UsageError("Give the ids of tasks, or --lost for those that their servers do not know.");
  const known: KnownTask[] = [];
  if (lost === true) {
    const { tasks } = await state.list();
    known.push(
      ...tasks.filter(
        ({ seen, isOver }) => !isOver && (seen?.status === "lost" || seen?.status === "expired"),
      ),
    );
  }
  // All are found before one is removed, which could change what another name means.
  for (const id of ids) {
    const found = await state.find(id);
    if (found === undefined)
      throw new UsageError(`There is no task ${JSON.stringify(id)} on your list. See holdfast ls.`);
    known.push(found);
  }
  for (const task of known) await state.forget(task);
  if (output.json) await output.printJson({ ids: known.map(({ id }) => id) } satisfies ForgottenJson);
  else {
    for (const { id } of known) output.note(`forgot ${id}; the task itself was not cancelled`);
    if (known.length === 0)
      output.note("No task on your list is known to be lost. To ask the servers: holdfast ls --refresh");
  }
  return exitCodes.done;
}
