import { join } from "node:path";
import type { TaskContext, Tasks } from "holdfast";
import * as z from "zod";
import { eachAtMost } from "./each-at-most.ts";
import { folderIndex } from "./folder-index.ts";
import { defaultLimits, listFiles, type Listing, type ListLimits } from "./list-files.ts";
import { readFacts, type ReadResult } from "./read-facts.ts";
import { report } from "./report.ts";
import { counted, printable, size } from "./wording.ts";
import { writeReport } from "./write-report.ts";

export interface IndexFolderOptions {
  readonly reportFolder: string;
  readonly limits?: Partial<ListLimits>;
  /**
   * Real paths; whatever begins with one of them is never opened. The server's own database has to be among them:
   * closing any other descriptor of a SQLite file drops the locks that SQLite holds on it.
   */
  readonly keepOut?: () => Promise<readonly string[]>;
  readonly watch?: ReadWatch;
}

/** Lets the demo watch. */
export interface ReadWatch {
  /** Called around each read of one of `total` files. */
  read(path: string, total: number, run: () => Promise<ReadResult>): Promise<ReadResult>;
  /** The file's step is in the journal. */
  kept(path: string): void;
}

export const readsAtOnce = 8;

const requestedSchema = {
  type: "object" as const,
  properties: { write: { type: "boolean" as const, title: "Write the report?" } },
  required: ["write"],
};

const outputSchema = z.object({
  folder: z.string(),
  files: z.number(),
  words: z.number(),
  bytes: z.number(),
  leftOut: z.array(z.string()),
  reportPath: z.string().nullable(),
});

/** Adds the tool `index_folder`: it reads each file of a folder once, whatever happens to the server meanwhile. */
export function addIndexFolder(tasks: Tasks, options: IndexFolderOptions): void {
  tasks.tool(
    "index_folder",
    {
      title: "Index a folder",
      description:
        "Reads every file of a folder on the server's machine, counts words, hashes, and writes a Markdown report.",
      inputSchema: z.object({ folder: z.string().min(1).describe("Path of the folder") }),
      outputSchema,
      annotations: { idempotentHint: true, destructiveHint: false, openWorldHint: false },
      requires: ["elicitation"],
    },
    async ({ folder }, task) => {
      // Step keys are durable: do not rename one while tasks that used it still run.
      const listing = await task.step("list", async ({ signal }) => {
        const limits = { ...defaultLimits, ...options.limits };
        return listFiles(folder, { limits, keepOut: (await options.keepOut?.()) ?? [], signal });
      });
      const index = folderIndex(listing, await readAll(listing, task, options.watch));
      const { root, files, words, bytes, leftOut } = index;
      const totals = `${counted(files.length, "file")}, ${counted(words, "word")}, ${size(bytes)}`;
      await task.status("Files read");
      const answer = await task.elicit("write_report", {
        message: `Write a report on ${printable(root)}? ${totals}.`,
        requestedSchema,
      });
      const isWanted = answer.action === "accept" && answer.content?.["write"] === true;
      const reportPath = isWanted
        ? await task.step("write_report_file", () => writeReport(options.reportFolder, root, report(index)))
        : null;
      const lines = [
        `${root}: ${totals}.`,
        ...(leftOut.length === 0 ? [] : [`Left out: ${leftOut.join("; ")}.`]),
        reportPath === null ? "No report was written." : `Report: ${reportPath}`,
      ];
      return {
        content: [{ type: "text", text: lines.join("\n") }],
        structuredContent: { folder: root, files: files.length, words, bytes, leftOut, reportPath },
      };
    },
  );
}

/** Reads every listed file, one step each: after a crash it reads only files whose result is not in the journal. */
async function readAll(
  listing: Listing,
  task: TaskContext,
  watch: ReadWatch | undefined,
): Promise<Map<string, ReadResult>> {
  const { root, files, limits } = listing;
  const results = new Map<string, ReadResult>();
  await task.status("Reading files");
  // A later attempt does not report from zero: its first report follows its first new read.
  if (task.attempt === 1) task.progress(0, files.length);
  await eachAtMost(readsAtOnce, files, async (path) => {
    let ranNow = false;
    const result = await task.step(["file", path], () => {
      ranNow = true;
      const run = (): Promise<ReadResult> => readFacts(join(root, path), limits.maxFileBytes);
      return watch === undefined ? run() : watch.read(path, files.length, run);
    });
    results.set(path, result);
    // What comes from the journal was reported by an earlier attempt.
    if (!ranNow) return;
    watch?.kept(path);
    task.progress(results.size, files.length);
  });
  return results;
}
