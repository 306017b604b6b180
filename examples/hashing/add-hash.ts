import { worker, type Tasks } from "holdfast";
import * as z from "zod";
import type * as hash from "./hash.ts";

const hashing = worker<typeof hash>(new URL("./hash.ts", import.meta.url));

/** A tool that hashes a file on a thread, so that the server answers others meanwhile. */
export function addHash(tasks: Tasks): void {
  tasks.tool("hash_file", { inputSchema: z.object({ path: z.string() }) }, async ({ path }, task) =>
    task.step("hash", { worker: hashing, export: "hashFile", timeoutMs: 600_000 }, { path }),
  );
}
