import type { Progress } from "@modelcontextprotocol/client";
import type { RemoteTask } from "../../client/task/remote-task.ts";
import { sanitizeLine } from "./sanitize.ts";
import { toAnswer } from "./to-answer.ts";
import type { Display, ShownTask } from "./terminal.ts";

/** Plain lines, one for each thing that is new: for pipes, scripts and logs. */
export class PlainDisplay implements Display {
  readonly #write: (text: string) => void;
  #task: ShownTask | undefined;
  #last = "";

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  connecting(): void {
    // Nobody watches: what is only begun need not be told.
  }

  connected(): void {
    // The same.
  }

  calling(): void {
    // The same.
  }

  started(task: ShownTask): void {
    this.#task = task;
    this.#line(`task ${sanitizeLine(task.taskId)}`);
  }

  update({ status, statusMessage, taskId }: RemoteTask): void {
    const state = sanitizeLine(statusMessage === undefined ? status : `${status}: ${statusMessage}`);
    const asks = status === "input_required" && this.#task !== undefined;
    this.#line(asks ? `${state}\nIt asks a question. Answer with: ${toAnswer(taskId)}` : state);
  }

  progress({ progress, total, message }: Progress): void {
    const of = total === undefined ? `${progress}` : `${progress}/${total}`;
    this.#line(sanitizeLine(message === undefined ? of : `${of} ${message}`));
  }

  note(line: string): void {
    this.#line(line);
  }

  end(): void {
    // Nothing moves.
  }

  #line(line: string): void {
    if (line === this.#last) return;
    this.#last = line;
    this.#write(`${line}\n`);
  }
}
