import type { EventEmitter } from "node:events";
import { Worker } from "node:worker_threads";
import type { CommandResult, TaskCommand } from "../../task/command.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { Sealing } from "../cipher.ts";
import type { TaskChange } from "../store.ts";
import { commandSize } from "../lifecycle.ts";
import { SentRecords } from "./known-records.ts";
import { messageOf } from "./sqlite-error.ts";
import type {
  CommandAnswer,
  OtherWrite,
  OtherWrites,
  WriterAnswer,
  WriterCommand,
  WriterOptions,
  WriterRequest,
  WriterResult,
} from "./writer-connection.ts";

/** Limits what one failed commit affects, and how long the first command of a group waits for the last. */
const usualMaxGroup = 1000;

/** The maximum size of a group's commands, in bytes: the write-ahead log grows by the whole transaction. */
const maxGroupBytes = 8 * 1024 * 1024;

interface PendingWrite {
  readonly command: WriterCommand;
  readonly bytes: number;
  readonly resolve: (result: WriterResult) => void;
  readonly reject: (error: HoldfastError) => void;
}

/** Where the commands are applied: a thread of its own, or, for a database in memory, this one. */
export type WriterThread = Pick<EventEmitter, "on" | "once"> &
  Pick<Worker, "postMessage" | "ref" | "unref" | "terminate">;

/** Called with the changes of a commit, and its number of commands. */
type OnCommit = (changes: readonly TaskChange[], commands: number) => void;

/**
 * The main thread's end of the writer. Requests that arrive during a commit form the next group: under load one fsync serves many, without
 * load nothing waits.
 */
export class Writer {
  readonly #worker: WriterThread;
  readonly #onCommit: OnCommit;
  readonly #maxGroup: number;
  readonly #sent = new SentRecords();
  #waiting: PendingWrite[] = [];
  #inFlight: readonly PendingWrite[] = [];
  #flushQueued = false;
  #dead: HoldfastError | undefined;
  #idle: (() => void) | undefined;
  readonly #started = Promise.withResolvers<void>();
  /** Resolves when the thread has ended for any reason: it writes nothing more. */
  readonly ended: Promise<unknown>;

  private constructor(worker: WriterThread, onCommit: OnCommit, maxGroup: number) {
    this.#worker = worker;
    this.#onCommit = onCommit;
    this.#maxGroup = maxGroup;
    worker.on("message", (answer: WriterAnswer) => this.#answer(answer));
    worker.on("messageerror", (error) => this.#die(messageOf(error)));
    worker.on("error", (error) => this.#die(messageOf(error)));
    worker.on("exit", (code) => this.#die(`exit code ${code}`));
    this.ended = new Promise((resolve) => {
      worker.once("exit", resolve);
    });
  }

  /** Waits until the thread's connection is open; rejects with `store_unusable` or `store_locked`. */
  static async start(worker: WriterThread, onCommit: OnCommit, maxGroup = usualMaxGroup): Promise<Writer> {
    const writer = new Writer(worker, onCommit, maxGroup);
    try {
      await writer.#started.promise;
    } catch (error) {
      await worker.terminate();
      throw error;
    }
    return writer;
  }

  /** Resolves after the commit; rejects with `store_failed` or `task_unreadable` if nothing was written. */
  write(command: TaskCommand): Promise<CommandResult>;
  write<K extends keyof OtherWrites>(command: OtherWrite<K>): Promise<OtherWrites[K]["result"]>;
  write(command: WriterCommand): Promise<WriterResult> {
    return new Promise((resolve, reject) => {
      if (this.#dead !== undefined) {
        reject(this.#dead);
        return;
      }
      this.#waiting.push({ command, bytes: commandSize(command), resolve, reject });
      this.#queueFlush();
    });
  }

  /** Why the thread has ended, if it has not been stopped: nothing more is written. */
  get dead(): HoldfastError | undefined {
    return this.#dead;
  }

  /** Encrypts what is written from now on. */
  encrypt(sealing: Sealing): void {
    this.#send({ type: "encrypt", sealing });
  }

  /** Finishes all requests, then ends the thread. */
  async stop(): Promise<void> {
    if (this.#waiting.length > 0 || this.#inFlight.length > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    if (this.#dead !== undefined) {
      await this.#worker.terminate();
      return;
    }
    this.#worker.ref();
    this.#send({ type: "stop" });
    await this.ended;
  }

  /** After the current microtask, so that calls made together form one group. */
  #queueFlush(): void {
    if (this.#flushQueued) return;
    this.#flushQueued = true;
    queueMicrotask(() => {
      this.#flushQueued = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#inFlight.length > 0 || this.#dead !== undefined) return;
    if (this.#waiting.length === 0) {
      this.#idle?.();
      return;
    }
    const length = groupLength(this.#waiting, this.#maxGroup);
    const group = this.#waiting.slice(0, length);
    this.#waiting = this.#waiting.slice(length);
    try {
      this.#sendGroup(group);
    } catch {
      this.#sendPlainOf(group);
    }
  }

  /** A command that cannot be sent to the other thread fails alone. */
  #sendPlainOf(group: readonly PendingWrite[]): void {
    const plain: PendingWrite[] = [];
    for (const write of group) {
      if (isPlain(write.command)) plain.push(write);
      else
        write.reject(
          new HoldfastError(
            "invalid_params",
            `The command ${write.command.type} contains more than plain data: it cannot be sent to another thread.`,
          ),
        );
    }
    if (plain.length > 0) this.#sendGroup(plain);
    else this.#flush();
  }

  #sendGroup(group: readonly PendingWrite[]): void {
    this.#send({ type: "group", commands: group.map(({ command }) => command) });
    this.#inFlight = group;
    this.#worker.ref();
  }

  #answer(answer: WriterAnswer): void {
    // An open store alone does not keep the process alive; an unfinished open or write does.
    this.#worker.unref();
    switch (answer.type) {
      case "ready":
        this.#started.resolve();
        return;
      case "unusable":
        this.#started.reject(new HoldfastError(answer.code, answer.message));
        return;
      case "committed": {
        const answers = answer.answers.map((sent) => this.#sent.unpack(sent));
        const group = this.#takeGroup();
        for (const [index, write] of group.entries()) settle(write, answers[index]);
        this.#onCommit(answer.changes, group.filter(({ command }) => !isOwn(command)).length);
        break;
      }
      case "failed":
        for (const write of this.#takeGroup()) write.reject(notWritten(answer));
        break;
    }
    this.#flush();
  }

  #takeGroup(): readonly PendingWrite[] {
    const group = this.#inFlight;
    this.#inFlight = [];
    return group;
  }

  /** Writes nothing more: what was written goes nowhere. */
  async lose(fault: HoldfastError): Promise<void> {
    this.#end(fault);
    await this.#worker.terminate();
  }

  #die(cause: string): void {
    const message = `The writer thread has ended (${cause}). Restart the process.`;
    this.#end(new HoldfastError("store_lost", message), cause);
  }

  #end(fault: HoldfastError, cause = fault.message): void {
    if (this.#dead !== undefined) return;
    this.#dead = fault;
    this.#started.reject(new HoldfastError("store_unusable", `The writer thread did not start (${cause}).`));
    const lost = [...this.#takeGroup(), ...this.#waiting];
    this.#waiting = [];
    for (const write of lost) write.reject(this.#dead);
    this.#idle?.();
  }

  #send(request: WriterRequest): void {
    this.#worker.postMessage(request);
  }
}

export function startWriterThread(options: WriterOptions, file = defaultWorkerFile()): Worker {
  return new Worker(file, { workerData: options, execArgv: [] });
}

/** The thread runs the same kind of file as this one: the source under Node's own TypeScript, otherwise the build. */
function defaultWorkerFile(): URL {
  return import.meta.url.endsWith(".ts")
    ? new URL("./writer-worker.ts", import.meta.url)
    : new URL("./writer-worker.js", import.meta.url);
}

/** How many waiting commands form the next group: at least one, however large it is. */
function groupLength(waiting: readonly PendingWrite[], maxGroup: number): number {
  let bytes = 0;
  const end = waiting.findIndex((write, index) => {
    bytes += write.bytes;
    return index === maxGroup || (index > 0 && bytes > maxGroupBytes);
  });
  return end === -1 ? waiting.length : end;
}

function settle(write: PendingWrite, answer: CommandAnswer | undefined): void {
  if (answer !== undefined && "result" in answer) {
    write.resolve(answer.result);
    return;
  }
  const { problem, code } = answer ?? { problem: "no answer", code: "store_failed" };
  write.reject(new HoldfastError(code, `The store could not apply ${write.command.type}: ${problem}.`));
}

function notWritten({ code, problem }: Extract<WriterAnswer, { type: "failed" }>): HoldfastError {
  return code === "store_failed"
    ? failed(`Nothing was written: ${problem}.`)
    : new HoldfastError(code, `${problem}.`);
}

function failed(message: string): HoldfastError {
  return new HoldfastError("store_failed", message);
}

/** Whether it is about the owner itself, or what others have left, and counts as no write. */
function isOwn({ type }: WriterCommand): boolean {
  return type === "report" || type === "mark_file" || type === "left_pieces";
}

function isPlain(command: WriterCommand): boolean {
  try {
    structuredClone(command);
    return true;
  } catch {
    return false;
  }
}
