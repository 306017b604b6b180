import { setTimeout as pause } from "node:timers/promises";
import { rotateSecrets } from "../../../admin/rotate-secrets.ts";
import { readTimeSpan } from "../../arguments/times.ts";
import type { Context } from "../../context.ts";
import { exitCodes, type ExitCode } from "../../exit-code.ts";
import { tasksText } from "../../output/amounts.ts";
import type { RotatedSecretsJson } from "../../output/json-shapes.ts";
import { timeText } from "../../output/times.ts";
import { withAdmin } from "./with-admin.ts";
import { storePlace } from "./store-place.ts";

export interface RotateSecretsOptions {
  readonly accept: string;
}

/** `holdfast admin STORE rotate-secrets` */
export async function rotateStoreSecrets(
  context: Context,
  { place, options }: { readonly place: string; readonly options: RotateSecretsOptions },
): Promise<ExitCode> {
  const { output, io } = context;
  storePlace(io, place);
  const acceptMs = readTimeSpan("--accept", options.accept);
  return withAdmin(context, { place, options: {} }, async ({ store, now }) => {
    if (store === undefined) return exitCodes.usage;
    const services = { store, now, pause: (ms: number) => pause(ms) };
    const document: RotatedSecretsJson = await rotateSecrets(services, acceptMs);
    const { secrets, acceptedUntil, rekeyed, left } = document;
    if (output.json) await output.printJson(document);
    else if (secrets.length === 0) await output.print("the store has no secrets yet\n");
    else {
      const until = acceptedUntil === null ? "now deleted" : `accepted until ${timeText(acceptedUntil)}`;
      const changed = rekeyed === 0 ? "" : `; ${tasksText(rekeyed)} got new keys`;
      await output.print(`new: ${secrets.join(", ")}; the old ones are ${until}${changed}\n`);
    }
    if (left.length > 0)
      output.note(
        `not changed, because they cannot be read: ${left.join(", ")}. Equal calls start other tasks.`,
      );
    return left.length > 0 ? exitCodes.failed : exitCodes.done;
  });
}
