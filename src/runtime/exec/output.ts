import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import type { ResourceLink } from "@modelcontextprotocol/server";
import { createReadStream } from "node:fs";
import { assertArtifactName } from "../../task/artifact.ts";
import type { Clock } from "../clock.ts";
import { artifactEnd, type ArtifactEnd, linkTo, writeArtifact } from "../execution/store-artifact.ts";
import type { Run } from "../journal/run.ts";
import type { Launched } from "./started-processes.ts";

type OutputStream = "stdout" | "stderr";

/** Their files, in the folder of the process. */
const fileOf: Readonly<Record<OutputStream, string>> = { stdout: "out", stderr: "err" };

const chunkBytes = 64 * 1024;

/** In characters; what is longer is passed on in parts. */
const longestLine = 8_192;

/** Reads one output of a process line by line, as it grows. */
class Lines {
  readonly #handle: FileHandle;
  readonly #decoder = new StringDecoder("utf8");
  readonly #chunk = Buffer.alloc(chunkBytes);
  readonly #line: (line: string) => Promise<void>;
  #position = 0;
  #rest = "";

  constructor(handle: FileHandle, line: (line: string) => Promise<void>) {
    this.#handle = handle;
    this.#line = line;
  }

  /** Passes on the lines that have been completed since. */
  async read(): Promise<void> {
    for (;;) {
      const { bytesRead } = await this.#handle.read(this.#chunk, 0, chunkBytes, this.#position);
      if (bytesRead === 0) return;
      this.#position += bytesRead;
      await this.#take(this.#decoder.write(this.#chunk.subarray(0, bytesRead)));
    }
  }

  /** Passes on what is left of a line without an end. */
  async end(): Promise<void> {
    await this.read();
    await this.#take(this.#decoder.end());
    if (this.#rest !== "") await this.#line(this.#rest);
    await this.close();
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  async #take(text: string): Promise<void> {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    await Promise.all(lines.map((line) => this.#line(line.endsWith("\r") ? line.slice(0, -1) : line)));
    while (this.#rest.length > longestLine) {
      await this.#line(this.#rest.slice(0, longestLine));
      this.#rest = this.#rest.slice(longestLine);
    }
  }
}

/** Where lines go; a note is ours. */
export type Append = (stream: OutputStream, text: string) => Promise<void>;

/**
 * Passes on the output of a process: of each stream the first half of `most` lines as they come, and of the rest the last half at the end, after a
 * word on how many are missing between them. So what was passed on depends on the output alone, whoever reads it and how often.
 */
export class Output {
  readonly #streams: readonly PassedLines[];

  private constructor(streams: readonly PassedLines[]) {
    this.#streams = streams;
  }

  static async of(folder: string, most: number, append: Append): Promise<Output> {
    const stream = async (name: OutputStream): Promise<PassedLines> =>
      new PassedLines(await open(join(folder, fileOf[name])), most, (text) => append(name, text));
    return new Output([await stream("stdout"), await stream("stderr")]);
  }

  async read(): Promise<void> {
    for (const stream of this.#streams) await stream.read();
  }

  async end(): Promise<void> {
    for (const stream of this.#streams) await stream.end();
  }

  /** Leaves the rest to whoever reads it next. */
  async close(): Promise<void> {
    for (const stream of this.#streams) await stream.close();
  }
}

class PassedLines {
  readonly #lines: Lines;
  readonly #first: number;
  readonly #most: number;
  readonly #append: (text: string) => Promise<void>;
  #passed = 0;
  readonly #last: string[] = [];
  #missing = 0;

  constructor(handle: FileHandle, most: number, append: (text: string) => Promise<void>) {
    this.#lines = new Lines(handle, (line) => this.#line(line));
    this.#first = Math.ceil(most / 2);
    this.#most = most;
    this.#append = append;
  }

  read(): Promise<void> {
    return this.#lines.read();
  }

  async end(): Promise<void> {
    await this.#lines.end();
    const missing = this.#missing;
    if (missing > 0)
      await this.#append(`… ${missing} ${missing === 1 ? "line is" : "lines are"} left out here …`);
    await Promise.all(this.#last.map((line) => this.#append(line)));
  }

  close(): Promise<void> {
    return this.#lines.close();
  }

  async #line(line: string): Promise<void> {
    if (this.#passed < this.#first) {
      this.#passed += 1;
      await this.#append(line);
      return;
    }
    this.#last.push(line);
    if (this.#last.length <= this.#most - this.#first) return;
    this.#last.shift();
    this.#missing += 1;
  }
}

/** An output, or the beginning and the end of one that has more than `maxBytes`. */
export async function textOf(folder: string, stream: OutputStream, maxBytes: number): Promise<string> {
  const handle = await open(join(folder, fileOf[stream]));
  try {
    const { size } = await handle.stat();
    const part = async (from: number, bytes: number): Promise<string> => {
      const buffer = Buffer.alloc(bytes);
      const { bytesRead } = await handle.read(buffer, 0, bytes, from);
      return buffer.toString("utf8", 0, bytesRead);
    };
    if (size <= maxBytes) return await part(0, size);
    const half = Math.floor(maxBytes / 2);
    return `${await part(0, half)}\n… ${size - 2 * half} bytes are left out here …\n${await part(size - half, half)}`;
  } finally {
    await handle.close();
  }
}

interface Saved {
  readonly stream: OutputStream;
  readonly name: string;
  /** Whether an earlier run has not begun it. */
  readonly isNew: boolean;
  /** How it has ended; undefined for one that was never stored. */
  end: Promise<ArtifactEnd> | undefined;
}

/**
 * The outputs of a program that are kept as artifacts of its task.
 * - They are stored when the program has ended for the last time, and before its step has: until then its files are there, and whichever run
 *   finds them stores what is missing.
 * - Each names its step, since a retry of the task has neither its bytes nor the files: there the program runs again.
 */
export class SavedOutput {
  readonly #run: Run;
  readonly #clock: Clock;
  readonly #step: string;
  readonly #all: readonly Saved[];

  /** Claims their names. */
  constructor(run: Run, clock: Clock, step: string, names: Readonly<Partial<Record<OutputStream, string>>>) {
    this.#run = run;
    this.#clock = clock;
    this.#step = step;
    this.#all = (Object.entries(names) as [OutputStream, string][]).map(([stream, given]) => {
      assertArtifactName(given);
      const name = run.claim(given);
      const entry = run.find(name, { kind: "artifact", request: given });
      const isOver = entry !== undefined && entry.doneAt !== null;
      const end = isOver ? run.replayed(entry, artifactEnd) : undefined;
      end?.catch(() => undefined); // the step may end with an error of its own
      return { stream, name, isNew: entry === undefined, end };
    });
  }

  /** Await it before the program runs. Rejects if the task can have no artifacts, or no more of them. */
  async begin(): Promise<void> {
    for (const { end, isNew, name } of this.#all) {
      if (end !== undefined) continue;
      this.#run.countArtifact();
      await this.#run.begin(isNew);
      this.#run.pieces(name);
    }
  }

  /** Stores what is not stored yet. Rejects as `writeArtifact`. */
  async store({ folder }: Pick<Launched, "folder">): Promise<void> {
    for (const saved of this.#all) {
      if (saved.end !== undefined) continue;
      const { name, stream } = saved;
      const artifact = {
        key: name,
        pieces: this.#run.pieces(name),
        mimeType: "text/plain",
        step: this.#step,
      };
      const source = (): AsyncIterable<Uint8Array> => createReadStream(join(folder, fileOf[stream]));
      saved.end = Promise.resolve(await writeArtifact(this.#run, this.#clock, artifact, source));
    }
  }

  /** Links to those that were stored. Rejects with why one could not be. */
  async links(): Promise<readonly ResourceLink[]> {
    const links: ResourceLink[] = [];
    for (const { name, end } of this.#all) {
      const ended = await end;
      if (ended === undefined) continue;
      if ("thrown" in ended) throw ended.thrown;
      links.push(linkTo(this.#run, name, ended.stored));
    }
    return links;
  }
}
