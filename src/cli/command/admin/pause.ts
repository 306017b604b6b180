import type { Context } from "../../context.ts";
import { exitCodes, type ExitCode } from "../../exit-code.ts";
import { withAdmin, type AdminOptions } from "./with-admin.ts";

/** `holdfast admin STORE pause TOOL` and `resume TOOL` */
export async function pauseOrResume(
  context: Context,
  {
    place,
    tool,
    what,
    options,
  }: {
    readonly place: string;
    readonly tool: string;
    readonly what: "pause" | "resume";
    readonly options: AdminOptions;
  },
): Promise<ExitCode> {
  const { output } = context;
  return withAdmin(context, { place, options }, async ({ acts }) => {
    await acts()[what](tool);
    const isPaused = what === "pause";
    if (output.json) await output.printJson({ tool, paused: isPaused });
    else await output.print(`${isPaused ? "paused" : "resumed"} ${tool}\n`);
    return exitCodes.done;
  });
}
