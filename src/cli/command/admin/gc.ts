import { compactStore, sizeOfStore } from "../../../store/data-care.ts";
import { deleteExpired } from "../../../admin/delete-expired.ts";
import type { Context } from "../../context.ts";
import { exitCodes, type ExitCode } from "../../exit-code.ts";
import type { GcJson } from "../../output/json-shapes.ts";
import { sizeText, tasksText } from "../../output/amounts.ts";
import { storePlace } from "./store-place.ts";
import { withAdmin } from "./with-admin.ts";

export interface GcOptions {
  readonly full?: true;
}

/** `holdfast admin STORE gc`: deletes expired data and frees its space. */
export async function gc(
  context: Context,
  { place, options }: { readonly place: string; readonly options: GcOptions },
): Promise<ExitCode> {
  const { output, io } = context;
  const at = storePlace(io, place);
  return withAdmin(context, { place, options: {} }, async ({ store, now }) => {
    if (store === undefined) return exitCodes.usage;
    const before = await sizeOfStore(at);
    const { tasks, sessions, deliveries } = await deleteExpired(store, now());
    const { others } = await store.renew();
    const left = await compactStore(at, { isAlone: others === 0, full: options.full === true });
    const after = await sizeOfStore(at);
    const document: GcJson = { tasks, sessions, deliveries, bytes: { before, after }, left };
    if (output.json) await output.printJson(document);
    else {
      const messages =
        deliveries === 0
          ? ""
          : ` and ${deliveries} ${deliveries === 1 ? "message" : "messages"} for webhooks`;
      const deleted = `deleted ${tasksText(tasks)} and ${sessions} ${sessions === 1 ? "session" : "sessions"}${messages}`;
      await output.print(`${deleted}: ${sizeText(before)} before, ${sizeText(after)} now\n`);
      if (left !== null) output.note(left);
    }
    return exitCodes.done;
  });
}
