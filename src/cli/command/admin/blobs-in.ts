import { resolve } from "node:path";
import type { BlobCopies } from "../../../store/blobs.ts";
import type { Context } from "../../context.ts";
import { UsageError } from "../../errors.ts";
import type { Io } from "../../io.ts";

/** The files of tasks in the folder of the option `--blobs`, or else of the environment. */
export async function blobsIn({ io }: Context, given: string | undefined): Promise<BlobCopies | undefined> {
  const folder = blobFolder(io, given);
  if (folder === undefined) return undefined;
  const { blobCopiesIn } = await import("../../../admin/blob-copies.ts");
  return blobCopiesIn(folder);
}

/** The folder in which tasks keep files outside of their store; undefined if none is named. */
export function blobFolder({ cwd, env }: Pick<Io, "cwd" | "env">, given?: string): string | undefined {
  const folder = given ?? env["HOLDFAST_BLOBS"] ?? "";
  if (folder === "") return undefined;
  if (/^[a-z][\w+.-]+:/i.test(folder))
    throw new UsageError(
      `Files can be read from a folder, and ${folder} is none. Copy a bucket with its own tools; the admin endpoint and the dashboard of a server show the files in it.`,
    );
  return resolve(cwd, folder);
}

/** The dump can be loaded, but what it restores has no such files. */
export function missingFiles(tasks: string, folder: string | undefined): string {
  const where = folder === undefined ? "" : ` that are not in ${folder}`;
  return `Files of ${tasks} are kept outside of the store (blobs)${where}, and are not in the dump. If they are in a folder, dump again with --blobs FOLDER. If they are in a bucket, or where your own functions keep them, copy them with the tools of that place, and give a store that is loaded from this dump the copy.`;
}
