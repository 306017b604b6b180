import type { Context } from "../../context.ts";
import { exitCodes, type ExitCode } from "../../exit-code.ts";
import { report } from "./act-on-many.ts";
import { withAdmin, type AdminOptions } from "./with-admin.ts";

export interface ShowBulkOptions extends AdminOptions {
  readonly cancel?: true;
}

/** `holdfast admin STORE bulk JOB`: shows how far a bulk action is, or ends it. */
export async function showBulk(
  context: Context,
  { place, id, options }: { readonly place: string; readonly id: string; readonly options: ShowBulkOptions },
): Promise<ExitCode> {
  const { output } = context;
  return withAdmin(context, { place, options }, async ({ acts, admin }) => {
    const job = await (options.cancel === true ? acts().cancelBulk(id) : admin.bulkJob(id));
    if (output.json) await output.printJson(job);
    else {
      await output.print(`${job.state}, by ${job.actor}\n`);
      await report(context, job, job.state === "previewed");
    }
    return exitCodes.done;
  });
}
