import { isBlobName, type BlobCopies } from "../store/blobs.ts";
import { folderBlobs, folderOf, foldersIn } from "../runtime/blobs/artifact-blobs.ts";

/** The blobs in a folder of `folderBlobs`, of all stores that keep theirs there: no two have a task of the same id. */
export function blobCopiesIn(path: string): BlobCopies {
  const blobs = folderBlobs(path);
  return {
    async *of(task) {
      for (const store of await foldersIn(path)) {
        for await (const name of blobs.list(`${store}/${folderOf(task)}/`)) {
          const data = isBlobName(name) ? await blobs.get(name) : undefined;
          if (data !== undefined) yield { name, data };
        }
      }
    },
    put: ({ name, data }) => blobs.put(name, data),
  };
}
