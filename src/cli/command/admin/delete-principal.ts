import { setTimeout as pause } from "node:timers/promises";
import { endTasksOf } from "../../../admin/end-tasks-of.ts";
import { erasePrincipal } from "../../../store/data-care.ts";
import { readTimeSpan } from "../../arguments/times.ts";
import type { Context } from "../../context.ts";
import { Stopped, UsageError } from "../../errors.ts";
import { exitCodes, interruptedBy, type ExitCode } from "../../exit-code.ts";
import type { DeletedPrincipalJson } from "../../output/json-shapes.ts";
import { confirm } from "../../terminal/confirm.ts";
import { storePlace } from "./store-place.ts";
import { withAdmin } from "./with-admin.ts";

export interface DeletePrincipalOptions {
  readonly yes?: true;
  readonly grace: string;
}

interface DeletePrincipal {
  readonly place: string;
  readonly principal: string;
  readonly options: DeletePrincipalOptions;
}

/** `holdfast admin STORE delete-principal PRINCIPAL`: removes all of its data from the store. */
export async function deletePrincipal(
  context: Context,
  { place, principal, options }: DeletePrincipal,
): Promise<ExitCode> {
  const { output, io } = context;
  const at = storePlace(io, place);
  const graceMs = readTimeSpan("--grace", options.grace);
  if (principal === "") throw new UsageError("The name of the principal is empty.");
  return withAdmin(context, { place, options: {}, endsItself: true }, async ({ store, now, interrupts }) => {
    if (store === undefined) return exitCodes.usage;
    if (options.yes !== true) {
      if (output.json || !(io.stdin.isTTY && io.stderr.isTTY))
        throw new UsageError("Nothing was deleted: this cannot be undone, so it needs --yes.");
      const question = `Everything the store has about ${principal} will be deleted permanently. Continue?`;
      if (!(await confirm(io, question, interrupts))) throw new UsageError("Nothing was deleted.");
    }
    if (interrupts.signal.aborted)
      throw new Stopped(interruptedBy(interrupts), "Interrupted: nothing was changed");
    const services = { store, now, pause: (ms: number) => pause(ms) };
    await endTasksOf(services, principal, graceMs);
    const { rows, left, isClean } = await erasePrincipal(at, principal);
    const document: DeletedPrincipalJson = { principal, deleted: rows, left, isClean };
    if (output.json) await output.printJson(document);
    else {
      const lines = Object.entries(rows).map(([kind, count]) => `${kind} ${count}\n`);
      await output.print(`rows deleted for ${principal}:\n${lines.join("")}`);
      if (left.length > 0)
        output.note(
          `not deleted, because they are still running: ${left.join(", ")}. Run the command again in a moment.`,
        );
      if (!isClean)
        output.note(
          "The database's free space may still contain deleted data, because other processes were using it, or because this database role is not allowed to rewrite it. Run the command again, with another role if necessary.",
        );
      output.note("Earlier backups and copies of the database are unchanged.");
    }
    return left.length > 0 || !isClean ? exitCodes.failed : exitCodes.done;
  });
}
