import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, join, parse } from "node:path";
import type { Tasks } from "holdfast";
import * as z from "zod";

export interface Media {
  /** Where the recordings are. */
  readonly inbox: string;
  /** For files that are not whole yet. */
  readonly scratch: string;
  /** The program, which gets the recording and the new file as its last arguments. */
  readonly converter: readonly [program: string, ...args: string[]];
}

const types = { mp3: "audio/mpeg", ogg: "audio/ogg", txt: "text/plain" } as const;

/** A tool that converts a recording with a program, which outlives a deploy of this server, and keeps the new file with the task. */
export function addConvert(tasks: Tasks, { inbox, scratch, converter: [program, ...args] }: Media): void {
  tasks.tool(
    "convert",
    { inputSchema: z.object({ recording: z.string(), format: z.enum(["mp3", "ogg", "txt"]) }) },
    async ({ recording, format }, task) => {
      const source = join(inbox, basename(recording));
      const target = join(scratch, `${task.id}.${format}`);
      await task.exec("convert", program, [...args, source, target], { timeoutMs: "2h", niceness: 10 });
      const name = `${parse(source).name}.${format}`;
      const converted = await task.artifact(name, () => createReadStream(target), {
        mimeType: types[format],
      });
      await task.step("tidy up", () => rm(target, { force: true }));
      return { content: [converted] };
    },
  );
}
