/**
 * What a program says beside its output: JSON lines on its file descriptor 3, which is a file. So they outlive the server that reads them, and one that
 * takes over the program reads them again from the beginning: each message is such that it may come twice. Answers to questions are JSON lines on its
 * file descriptor 4, a pipe that the program itself keeps open. Which questions were answered is in a file too.
 */

import { constants, type Stats } from "node:fs";
import { appendFile, open, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { specTypeSchemas } from "@modelcontextprotocol/server";
import { systemClock } from "../../runtime/clock.ts";
import { waitFor } from "../../runtime/wait-for.ts";
import type { TaskContext } from "../../runtime/tool/task-context.ts";
import type { JsonForm } from "../../runtime/questions/form.ts";
import { describeIssues } from "../../runtime/tool/schema.ts";

/** What a program may write, one object in a line. */
interface Message {
  readonly progress?: unknown;
  readonly total?: unknown;
  readonly message?: unknown;
  readonly status?: unknown;
  readonly log?: unknown;
  readonly level?: unknown;
  readonly data?: unknown;
  readonly output?: unknown;
  readonly ask?: unknown;
  readonly schema?: unknown;
  readonly result?: unknown;
  /** Of the shell: a try begins. */
  readonly begins?: unknown;
}

/**
 * In a shell, before each try of the program; nothing is left of the results of the one before. The pipe is opened for both directions, so that it stays
 * without the server.
 */
export const openDescriptors = `
folder=$1
shift
rm -rf "$folder/out" && mkdir -p "$folder/out" || exit 126
printf '\\n{"begins":true}\\n' >>"$folder/messages"
rm -f "$folder/answers"
mkfifo -m 600 "$folder/answers" || exit 126
exec 3>>"$folder/messages" 4<>"$folder/answers"
exec "$@"
`;

const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

const shortestLookMs = 50;

const longestLookMs = 500;

/** Longer lines are no messages. */
const longestLine = 1024 * 1024;

/** Passes on what a program writes, from the beginning, until `over` and all of it is passed on, or the task ends. */
export class Messages {
  readonly #folder: string;
  readonly #task: TaskContext;
  readonly #decoder = new StringDecoder("utf8");
  #position = 0;
  #rest = "";
  #result: unknown;
  /** By the id of a question. One that comes again gets the answer that it got. */
  readonly #asked = new Map<string, Promise<object>>();
  /** How often each question still has the answer that an earlier server gave. */
  #answered: Map<string, number> | undefined;

  constructor(folder: string, task: TaskContext) {
    this.#folder = folder;
    this.#task = task;
  }

  /** The last `result`; undefined if there was none. */
  get result(): unknown {
    return this.#result;
  }

  async follow(over: Promise<unknown>): Promise<void> {
    let isOver = false;
    let wake = (): void => undefined;
    const end = (): void => {
      isOver = true;
      wake();
    };
    void over.then(end, end);
    for (let ms = shortestLookMs; !isOver; ms = Math.min(ms * 1.5, longestLookMs)) {
      if (await this.#read()) ms = shortestLookMs;
      await waitFor((done) => {
        wake = done;
        return systemClock.after(isOver ? 0 : ms, done);
      }, this.#task.signal);
    }
    await this.#read();
  }

  /** Whether there was more. */
  async #read(): Promise<boolean> {
    const path = join(this.#folder, "messages");
    const found: Stats | undefined = await stat(path).catch(() => undefined);
    if (found === undefined || found.size <= this.#position) return false;
    const handle = await open(path);
    try {
      const chunk = Buffer.alloc(Math.min(found.size - this.#position, longestLine));
      for (;;) {
        const { bytesRead } = await handle.read(chunk, 0, chunk.length, this.#position);
        if (bytesRead === 0) return true;
        this.#position += bytesRead;
        const lines = (this.#rest + this.#decoder.write(chunk.subarray(0, bytesRead))).split("\n");
        this.#rest = (lines.pop() ?? "").slice(0, longestLine);
        for (const line of lines) if (line.trim() !== "") this.#take(line);
      }
    } finally {
      await handle.close();
    }
  }

  #take(line: string): void {
    const message = parsed(line);
    if (message === undefined) {
      void this.#task.log(
        "warning",
        `The program wrote a line to file descriptor 3 that is no JSON object: ${line.slice(0, 200)}`,
      );
      return;
    }
    const { progress, total, message: text, status, log, level, data, output, ask, result, begins } = message;
    if (begins === true) this.#result = undefined;
    if (typeof progress === "number")
      this.#task.progress(
        progress,
        typeof total === "number" ? total : undefined,
        typeof text === "string" ? text : undefined,
      );
    if (typeof status === "string") void this.#task.status(status);
    if (typeof log === "string")
      void this.#task.log(levels.find((each) => each === level) ?? "info", log, data);
    if (output !== undefined)
      void this.#task.output(typeof output === "string" ? output : JSON.stringify(output));
    if (result !== undefined) this.#result = result;
    if (typeof ask === "string") void this.#answer(ask, message).catch(() => undefined); // the task or its program is over
  }

  async #answer(id: string, { message, schema }: Message): Promise<void> {
    const asked = this.#asked.get(id) ?? this.#ask(id, message, schema);
    this.#asked.set(id, asked);
    const answer = await asked;
    this.#answered ??= await answeredIn(this.#folder);
    const left = this.#answered.get(id) ?? 0;
    if (left > 0) {
      this.#answered.set(id, left - 1);
      return;
    }
    const pipe = await open(join(this.#folder, "answers"), constants.O_WRONLY | constants.O_NONBLOCK);
    try {
      await pipe.write(`${JSON.stringify({ ask: id, ...answer })}\n`);
    } finally {
      await pipe.close();
    }
    await appendFile(join(this.#folder, "answered"), `${JSON.stringify(id)}\n`);
  }

  async #ask(id: string, message: unknown, schema: unknown): Promise<object> {
    const requestedSchema = { type: "object", properties: {}, ...(schema as object | undefined) } as JsonForm;
    const question = { message: typeof message === "string" ? message : id, requestedSchema };
    const { issues } = specTypeSchemas.ElicitRequestFormParams["~standard"].validate(question);
    if (issues !== undefined)
      return {
        action: "cancel",
        error: `Nobody can be asked with this schema, in which each property has to be a text, a number, a truth value or a choice: ${describeIssues(issues)}`,
      };
    try {
      return await this.#task.elicit(["ask", id], question);
    } catch (error) {
      this.#task.signal.throwIfAborted();
      return { action: "cancel", error: error instanceof Error ? error.message : String(error) };
    }
  }
}

function parsed(line: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

async function answeredIn(folder: string): Promise<Map<string, number>> {
  const text = await readFile(join(folder, "answered"), "utf8").catch(() => "");
  const counts = new Map<string, number>();
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const id = JSON.parse(line) as string;
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}
