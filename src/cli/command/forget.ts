import type { Context } from "../context.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import { UsageError } from "../errors.ts";

/** `holdfast forget ID`: removes a task from the list, for example when its server is gone. */
export async function forget({ state, output }: Context, { id }: { readonly id: string }): Promise<ExitCode> {
  const known = await state.find(id);
  if (known === undefined)
    throw new UsageError(`There is no task ${JSON.stringify(id)} on your list. See holdfast ls.`);
  await state.forget(known);
  if (output.json) await output.printJson({ id: known.id });
  else output.note(`forgot ${known.id}; the task itself was not cancelled`);
  return exitCodes.done;
}
