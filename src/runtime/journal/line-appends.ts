import type { TaskLine } from "../../task/task-line.ts";

type Write = (lines: readonly TaskLine[], forget: readonly number[]) => Promise<void>;

interface Batch {
  readonly lines: Map<string, TaskLine>;
  readonly forget: number[];
  readonly written: PromiseWithResolvers<void>;
}

/** Writes lines in order: one write runs at a time, and lines that come meanwhile are in the next one. */
export class LineAppends {
  #write: Write | undefined;
  #pending: Batch | undefined;
  /** The batch being written. */
  #underWay: Batch | undefined;

  writeWith(write: Write): void {
    this.#write = write;
    this.#next();
  }

  /** Resolves once the line is written, or at once while lines are not written. */
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

  /** Resolves when all lines so far are written, or have failed. Does not wait for later ones, which may keep coming. */
  async written(): Promise<void> {
    const last = this.#pending ?? this.#underWay;
    if (this.#write !== undefined) await last?.written.promise.catch(() => undefined);
  }

  #next(): void {
    const write = this.#write;
    if (write === undefined || this.#underWay !== undefined || this.#pending === undefined) return;
    this.#underWay = this.#pending;
    void this.#writePending(this.#pending, write).finally(() => {
      this.#underWay = undefined;
      this.#next();
    });
  }

  /** Never rejects. */
  async #writePending(batch: Batch, write: Write): Promise<void> {
    await Promise.resolve(); // a handler mostly appends several lines without waiting for the first
    this.#pending = undefined;
    const { resolve, reject } = batch.written;
    await write([...batch.lines.values()], batch.forget).then(resolve, reject);
  }
}
