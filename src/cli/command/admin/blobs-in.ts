import { resolve } from "node:path";
import type { BlobCopies } from "../../../store/blob-copies.ts";
import type { Context } from "../../context.ts";

/** The files of tasks in the folder of the option `--blobs`. */
export async function blobsIn({ io }: Context, folder: string | undefined): Promise<BlobCopies | undefined> {
  if (folder === undefined) return undefined;
  const { blobCopiesIn } = await import("../../../admin/blob-copies.ts");
  return blobCopiesIn(resolve(io.cwd, folder));
}
