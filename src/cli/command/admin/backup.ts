import { resolve } from "node:path";
import { backupStore } from "../../../store/data-care.ts";
import type { Context } from "../../context.ts";
import { Stopped } from "../../errors.ts";
import { exitCodes, interruptedBy, type ExitCode } from "../../exit-code.ts";
import type { BackupJson } from "../../output/json-shapes.ts";
import { sizeText, tasksText } from "../../output/amounts.ts";
import { spanText } from "../../output/times.ts";
import { watchSignals } from "../../terminal/signal-watch.ts";
import { adminFailure } from "./admin-failure.ts";
import { storePlace } from "./store-place.ts";

/** `holdfast admin STORE backup FILE` */
export async function backup(
  { io, output }: Context,
  { place, file: name }: { readonly place: string; readonly file: string },
): Promise<ExitCode> {
  const begun = performance.now();
  const file = resolve(io.cwd, name);
  using interrupts = watchSignals();
  try {
    const { tasks, bytes } = await backupStore(storePlace(io, place), file, {
      now: io.now(),
      signal: interrupts.signal,
    });
    const ms = Math.round(performance.now() - begun);
    const document: BackupJson = { file, tasks, bytes, seconds: ms / 1_000 };
    if (output.json) await output.printJson(document);
    else
      await output.print(`backed up ${tasksText(tasks)} to ${name}: ${sizeText(bytes)}, ${spanText(ms)}\n`);
    return exitCodes.done;
  } catch (error) {
    if (interrupts.signal.aborted)
      throw new Stopped(interruptedBy(interrupts), "Interrupted: no backup was made");
    throw adminFailure(error);
  }
}
