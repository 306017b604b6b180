import { resolve } from "node:path";
import { restoreStore } from "../../../store/data-care.ts";
import type { Context } from "../../context.ts";
import { Stopped } from "../../errors.ts";
import { exitCodes, interruptedBy, type ExitCode } from "../../exit-code.ts";
import type { RestoreJson } from "../../output/json-shapes.ts";
import { timeText } from "../../output/times.ts";
import { watchSignals } from "../../terminal/signal-watch.ts";
import { adminFailure } from "./admin-failure.ts";
import { storePlace } from "./store-place.ts";
import { tasksText } from "../../output/amounts.ts";

export interface RestoreOptions {
  readonly beside?: true;
}

/** `holdfast admin STORE restore FILE` */
export async function restore(
  { io, output }: Context,
  {
    place,
    file: name,
    options,
  }: { readonly place: string; readonly file: string; readonly options: RestoreOptions },
): Promise<ExitCode> {
  const file = resolve(io.cwd, name);
  const beside = options.beside === true;
  using interrupts = watchSignals();
  try {
    const { tasks, at, schema } = await restoreStore(storePlace(io, place), file, {
      beside,
      signal: interrupts.signal,
    });
    const document: RestoreJson = { file, tasks, at: Date.parse(at), schema, beside };
    if (output.json) await output.printJson(document);
    else await output.print(`restored ${tasksText(tasks)} as of ${timeText(document.at)}\n`);
    return exitCodes.done;
  } catch (error) {
    if (interrupts.signal.aborted)
      throw new Stopped(interruptedBy(interrupts), "Interrupted: nothing was restored");
    throw adminFailure(error);
  }
}
