import { artifactNamed, artifactsOf, readArtifact, type ArtifactReads } from "../runtime/artifacts.ts";
import type { TaskStore } from "../store/store.ts";
import type { Artifact } from "../task/artifact.ts";
import { HoldfastError, isUnreadable } from "../task/fault.ts";
import type { TaskRecord } from "../task/record.ts";
import type { FilePart, FileQuery, StoredFile } from "./artifact-shapes.ts";

/** The files of a task, without a look at the journal of one that never had any. None for operators without the keys of the store. */
export async function filesOf(
  store: TaskStore,
  { id, openArtifacts }: TaskRecord,
): Promise<readonly StoredFile[]> {
  if (openArtifacts === undefined) return [];
  try {
    return (await artifactsOf(store, id)).map(fileOf);
  } catch (error) {
    if (isUnreadable(error)) return [];
    throw error;
  }
}

/** Rejects with `invalid_params` if the task has no such file. */
export async function filePartOf(
  { store, blobs }: ArtifactReads & { readonly store: TaskStore },
  id: string,
  name: string,
  { from = 0, bytes = 1024 * 1024 }: FileQuery,
): Promise<FilePart> {
  const artifact = await artifactNamed(store, id, name);
  if (artifact === undefined)
    throw new HoldfastError("invalid_params", `Task ${id} has no file ${JSON.stringify(name)}.`);
  const { data } = await readArtifact({ store, blobs }, id, artifact, from, bytes);
  return { ...fileOf(artifact), from, data: data.toString("base64") };
}

function fileOf({ name, mimeType, bytes, sha256, at }: Artifact): StoredFile {
  return { name, mimeType, bytes, sha256, at };
}
