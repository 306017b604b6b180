import { resolve } from "node:path";
import { loadStore } from "../../../store/data-care.ts";
import type { Context } from "../../context.ts";
import { Stopped } from "../../errors.ts";
import { exitCodes, interruptedBy, type ExitCode } from "../../exit-code.ts";
import type { LoadJson } from "../../output/json-shapes.ts";
import { tasksText } from "../../output/amounts.ts";
import { timeText } from "../../output/times.ts";
import { watchSignals } from "../../terminal/signal-watch.ts";
import { adminFailure } from "./admin-failure.ts";
import { storePlace } from "./store-place.ts";

export interface LoadOptions {
  readonly partial?: true;
  readonly beside?: true;
}

interface Load {
  readonly place: string;
  readonly file: string;
  readonly options: LoadOptions;
}

/** `holdfast admin STORE load FILE` */
export async function load({ io, output }: Context, { place, file: name, options }: Load): Promise<ExitCode> {
  const file = resolve(io.cwd, name);
  const beside = options.beside === true;
  const partial = options.partial === true;
  using interrupts = watchSignals();
  try {
    const { signal } = interrupts;
    const { header, tasks } = await loadStore(storePlace(io, place), file, { beside, partial, signal });
    const document: LoadJson = { file, tasks, at: Date.parse(header.at), partial, beside };
    if (output.json) await output.printJson(document);
    else {
      await output.print(`loaded ${tasksText(tasks)} as of ${timeText(document.at)}\n`);
      if (partial)
        output.note(
          "Servers cannot open the store yet. Stop those of the original, dump it again with --since and this file, and load that dump.",
        );
    }
    return exitCodes.done;
  } catch (error) {
    if (interrupts.signal.aborted)
      throw new Stopped(interruptedBy(interrupts), "Interrupted: to go on, run the same command again");
    throw adminFailure(error);
  }
}
