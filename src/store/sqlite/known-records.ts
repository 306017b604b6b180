import type { TaskRecord } from "../../task/record.ts";
import type { Codec } from "../codec.ts";
import type { Statements } from "./statements.ts";

/** Of the tasks written last. A task that runs writes every few moments. */
const most = 2_000;

const dataVersion = "PRAGMA data_version";

/**
 * The records that a connection wrote last, so that a task is not read back before each of its writes. They are exactly what the database
 * contains: whatever else can change a row forgets them. Owners of a database in memory share them, but not with those who have other keys.
 */
export class KnownRecords {
  readonly #records = new Map<string, { readonly record: TaskRecord; readonly codec: Codec }>();
  readonly #statements: Statements;
  #version: unknown;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** Call it at the begin of each transaction: another connection may have written since the last one. */
  begin(): void {
    const [version] = this.#statements.get(dataVersion) ?? [];
    if (version !== this.#version) this.#records.clear();
    this.#version = version;
  }

  get(id: string, codec: Codec): TaskRecord | undefined {
    const known = this.#records.get(id);
    return known?.codec === codec ? known.record : undefined;
  }

  /** It was written. */
  keep(record: TaskRecord, codec: Codec): void {
    this.#records.delete(record.id); // it becomes the newest
    this.#records.set(record.id, { record, codec });
    if (this.#records.size <= most) return;
    for (const oldest of this.#records.keys()) {
      this.#records.delete(oldest);
      return;
    }
  }

  forget(id: string): void {
    this.#records.delete(id);
  }

  /** Writes were undone. */
  forgetAll(): void {
    this.#records.clear();
  }
}
