import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { WorkerStepContext } from "holdfast/worker";

/** The SHA-256 of a file, read and computed on the thread that calls this. */
export function hashFile({ path }: { readonly path: string }, step: WorkerStepContext): string {
  const hash = createHash("sha256");
  const chunk = Buffer.alloc(1024 * 1024);
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    let done = 0;
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) {
      hash.update(chunk.subarray(0, read));
      step.progress((done += read), size);
    }
    return hash.digest("hex");
  } finally {
    closeSync(file);
  }
}
