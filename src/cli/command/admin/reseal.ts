import { setTimeout as pause } from "node:timers/promises";
import { resealStore } from "../../../store/data-care.ts";
import type { Context } from "../../context.ts";
import { UsageError } from "../../errors.ts";
import { exitCodes, type ExitCode } from "../../exit-code.ts";
import type { ResealedJson } from "../../output/json-shapes.ts";
import { encryptionKeys } from "../../server/encryption-keys.ts";
import { adminFailure } from "./admin-failure.ts";
import { storePlace } from "./store-place.ts";

/** Servers that store in clear notice at their next renewal, within a second, that the store is encrypted. */
const untilNoticedMs = 3_000;

/** `holdfast admin STORE reseal` */
export async function reseal(
  { io, output }: Context,
  { place }: { readonly place: string },
): Promise<ExitCode> {
  const at = storePlace(io, place);
  const keys = encryptionKeys(io);
  if (keys === undefined)
    throw new UsageError("Set HOLDFAST_ENCRYPTION_KEYS to the keys of the store: the first one seals.");
  try {
    const document: ResealedJson = await resealStore(at, { keys, pause: () => pause(untilNoticedMs) });
    const { rows, left, isClean } = document;
    if (output.json) await output.printJson(document);
    else {
      const lines = Object.entries(rows).map(([kind, count]) => `${kind} ${count}\n`);
      await output.print(
        lines.length === 0 ? "everything is sealed with the first key\n" : `rows sealed:\n${lines.join("")}`,
      );
    }
    const isAll = Object.keys(left).length === 0;
    if (!isAll)
      output.note(
        `rows that cannot be opened and stay as they are: ${Object.entries(left)
          .map(([kind, count]) => `${kind} ${count}`)
          .join(", ")}. Run the command again with the keys that they need, or delete their tasks.`,
      );
    if (!isClean)
      output.note(
        "The database's free space may still contain what was replaced, because other processes were using it. Run the command again.",
      );
    return isAll && isClean ? exitCodes.done : exitCodes.failed;
  } catch (error) {
    throw adminFailure(error);
  }
}
