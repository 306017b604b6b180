import type { TaskLine } from "../../task/task-line.ts";

type Write = (lines: readonly TaskLine[], forget: readonly number[]) => Promise<void>;

interface Batch {
  readonly lines: Map<string, TaskLine>;
  readonly forget: number[];
  readonly written: PromiseWithResolvers<void>;
}

/** Writes lines in their order: one write is under way at a time, and all lines that come together or meanwhile are in the next one. */
export class LineAppends {
  #write: Write | undefined;
  #pending: Batch | undefined;
  #underWay: Promise<void> | undefined;

  writeWith(write: Write): void {
    this.#write = write;
    this.#next();
  }

  /** Resolves once the line is written; at once as long as nothing is. */
  append(line: TaskLine, forget: readonly number[]): Promise<void> {
    const batch: Batch = (this.#pending ??= {
      lines: new Map(),
      forget: [],
      written: Promise.withResolvers<void>(),
    });
    batch.written.promise.catch(() => undefined); // whoever appends may leave it alone
    batch.lines.set(`${line.list} ${line.seq}`, line);
    for (const seq of forget) if (!batch.lines.delete(`log ${seq}`)) batch.forget.push(seq);
    this.#next();
    return this.#write === undefined ? Promise.resolve() : batch.written.promise;
  }

  get isWriting(): boolean {
    return this.#write !== undefined && (this.#pending !== undefined || this.#underWay !== undefined);
  }

  /** Resolves when all lines so far are written, or could not be. */
  async written(): Promise<void> {
    while (this.isWriting) await this.#underWay;
  }

  #next(): void {
    const write = this.#write;
    if (write === undefined || this.#underWay !== undefined || this.#pending === undefined) return;
    this.#underWay = this.#writePending(write).finally(() => {
      this.#underWay = undefined;
      this.#next();
    });
  }

  /** Never rejects. */
  async #writePending(write: Write): Promise<void> {
    await Promise.resolve(); // a handler mostly appends several lines without waiting for the first
    const batch = this.#pending;
    if (batch === undefined) return;
    this.#pending = undefined;
    const { resolve, reject } = batch.written;
    await write([...batch.lines.values()], batch.forget).then(resolve, reject);
  }
}
