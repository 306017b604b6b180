import { assertCommand } from "../task/command-shape.ts";
import type { CommandResult, TaskCommand, TaskCommandName } from "../task/command.ts";
import { HoldfastError } from "../task/fault.ts";
import type { StoreOwner } from "../task/queue.ts";
import { type Codec, idOf } from "./row.ts";
import { type Read, type Reading, rowOf } from "./dialect.ts";
import type { Sealing } from "./cipher.ts";
import { type ReadSecrets, storedSecrets } from "./secrets.ts";
import type { LeftPieces } from "./left-pieces.ts";
import { ChangeFeed, Lifecycle } from "./lifecycle.ts";
import { outboxReads, type OutboxSql } from "./outbox-reads.ts";
import type { Outbox } from "./outbox.ts";
import { Protection } from "./protection.ts";
import type { ArtifactPieces, ChangeListener, StoreChanges, TaskLogs } from "./store.ts";
import { TaskReads, type TaskSql } from "./task-reads.ts";

/** What a store has while it is open. */
export interface StoreParts {
  readonly leftPieces: LeftPieces;
  /** For renewals too, which wait for no other read. */
  readonly secrets: ReadSecrets;
  /** Encrypts from now on. */
  encrypt(sealing: Sealing): void;
  close(): Promise<void>;
}

/** A store whose tables are in a database: what is the same in each kind of database. */
export abstract class TableStore<Parts extends StoreParts> extends TaskReads {
  readonly outbox: Outbox;
  readonly logs: TaskLogs = { read: (...query) => this.lines(...query) };
  readonly pieces: ArtifactPieces = {
    read: (...piece) => this.piece(...piece),
    deleteLeft: async () => this.opened().leftPieces.deleteSome(),
  };
  protected readonly feed = new ChangeFeed();
  protected protection = new Protection();
  protected readonly read: Read = async (reading, task) => this.readFrom(this.opened(), reading, task);
  readonly #lifecycle = new Lifecycle();
  readonly #onCommit = new Set<(commands: number) => void>();
  #parts: Parts | undefined;

  protected constructor(sql: TaskSql, outbox: OutboxSql) {
    super(sql);
    this.outbox = outboxReads(outbox, this.read);
  }

  /** Opens the database and becomes one of its owners. */
  protected abstract join(owner: StoreOwner): Promise<Parts>;

  protected abstract readFrom<T>(
    parts: Parts,
    reading: (codec: Codec) => Reading<T>,
    task: string | undefined,
  ): Promise<T>;

  protected abstract apply(parts: Parts, command: TaskCommand): Promise<CommandResult>;

  open(owner: StoreOwner): Promise<void> {
    return this.#lifecycle.open(async () => {
      const parts = await this.join(owner);
      await this.protection.begin({
        secrets: storedSecrets(parts.secrets, (command) => this.apply(parts, command)),
        hasTasks: async () =>
          (await this.readFrom(parts, () => rowOf(this.sql.anyTask, [], idOf), undefined)) !== undefined,
        encrypt: (sealing) => parts.encrypt(sealing),
        close: () => parts.close(),
      });
      this.#parts = parts;
    });
  }

  protect(protection: Protection): void {
    this.protection = protection;
  }

  close(): Promise<void> {
    return this.#lifecycle.close(async () => {
      const parts = this.#parts;
      this.#parts = undefined;
      await parts?.close();
    });
  }

  write<N extends TaskCommandName>(command: TaskCommand<N>): Promise<CommandResult<N>>;
  async write(command: TaskCommand): Promise<CommandResult> {
    const parts = this.opened();
    assertCommand(command);
    const written = this.protection.written(command);
    return written ?? this.protection.shown(await this.apply(parts, command));
  }

  subscribe(listener: ChangeListener): () => void {
    return this.feed.subscribe(listener);
  }

  onCommit(listener: (commands: number) => void): void {
    this.#onCommit.add(listener);
  }

  /** Tells listeners of a commit of this owner. */
  protected committed(changes: StoreChanges, commands: number): void {
    this.feed.publish(changes, "self");
    if (commands > 0) for (const listener of this.#onCommit) listener(commands);
  }

  /** Undefined also while it opens. */
  protected get parts(): Parts | undefined {
    return this.#parts;
  }

  /** Throws `store_closed` unless the store is open, and `store_lost` once it is known to be. */
  protected opened(): Parts {
    this.#lifecycle.assertOpen();
    if (this.#parts === undefined) throw new HoldfastError("store_closed", "The store is not open.");
    this.protection.assertHeld();
    return this.#parts;
  }
}
