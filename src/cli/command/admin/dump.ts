import { resolve } from "node:path";
import { dumpStore } from "../../../store/data-care.ts";
import type { Context } from "../../context.ts";
import { Stopped } from "../../errors.ts";
import { exitCodes, interruptedBy, type ExitCode } from "../../exit-code.ts";
import type { DumpJson } from "../../output/json-shapes.ts";
import { sizeText, tasksText } from "../../output/amounts.ts";
import { spanText } from "../../output/times.ts";
import { watchSignals } from "../../terminal/signal-watch.ts";
import { adminFailure } from "./admin-failure.ts";
import { storePlace } from "./store-place.ts";

export interface DumpOptions {
  readonly since?: string;
}

interface Dump {
  readonly place: string;
  readonly file: string;
  readonly options: DumpOptions;
}

/** `holdfast admin STORE dump FILE` */
export async function dump({ io, output }: Context, { place, file: name, options }: Dump): Promise<ExitCode> {
  const begun = performance.now();
  const file = resolve(io.cwd, name);
  const since = options.since === undefined ? undefined : resolve(io.cwd, options.since);
  using interrupts = watchSignals();
  try {
    const { signal } = interrupts;
    const made = await dumpStore(storePlace(io, place), file, { now: io.now(), since, signal });
    const { tasks, changed, unreadable, bytes } = made;
    const ms = Math.round(performance.now() - begun);
    const document: DumpJson = { file, tasks, changed, unreadable, bytes, seconds: ms / 1_000 };
    if (output.json) await output.printJson(document);
    else {
      const what =
        since === undefined ? tasksText(tasks) : `${changed} of ${tasksText(tasks)}, which changed`;
      await output.print(`dumped ${what} to ${name}: ${sizeText(bytes)}, ${spanText(ms)}\n`);
      if (unreadable.length > 0)
        output.note(`not dumped, because they cannot be read: ${unreadable.join(", ")}`);
    }
    return unreadable.length > 0 ? exitCodes.failed : exitCodes.done;
  } catch (error) {
    if (interrupts.signal.aborted)
      throw new Stopped(interruptedBy(interrupts), "Interrupted: no dump was made");
    throw adminFailure(error);
  }
}
