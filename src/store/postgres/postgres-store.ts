import { assertCommand } from "../../task/command-shape.ts";
import type { CommandResult, TaskCommand, TaskCommandName } from "../../task/command.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { JournalEnd, JournalEntry } from "../../task/journal.ts";
import type { ClaimingHandler, HandlerName, StoreOwner } from "../../task/queue.ts";
import type { TaskRecord, TaskRequest, TaskSnapshot } from "../../task/record.ts";
import type { AdminStore, NodeReports } from "../admin-store.ts";
import type {
  ArtifactPieces,
  ChangeListener,
  JournalPage,
  KeyedTask,
  OwnerLease,
  QueuedPage,
  Renewal,
  StoreChanges,
  TaskFilter,
  TaskStore,
  WireName,
  WorkListener,
  ReserveMemory,
  TaskLogs,
} from "../store.ts";
import { ChangeFeed, Lifecycle } from "../lifecycle.ts";
import type { LimitStore } from "../limits.ts";
import type { MessageQueues, SessionStore } from "../session-store.ts";
import type { Outbox } from "../outbox.ts";
import { Protection } from "../protection.ts";
import { storedSecrets } from "../secrets.ts";
import { claimStatements, hasRunnable } from "./claims.ts";
import { namesIn, type Names } from "./names.ts";
import { openParts, type OpenParts } from "./open-parts.ts";
import { settingsOf, type PostgresStoreOptions, type Settings } from "./options.ts";
import { PostgresAdmin } from "./postgres-admin.ts";
import { PostgresReports } from "./postgres-reports.ts";
import { PostgresLimits, PostgresOutbox } from "./postgres-outbox.ts";
import { PostgresMessages } from "./postgres-messages.ts";
import { PostgresSessions } from "./postgres-sessions.ts";

/**
 * A store in a Postgres database (14 or later), for any number of processes on any number of machines. It needs the package `pg`. The URL
 * may be that of a pooler in transaction mode, if you also set `directUrl`. It may have several hosts, separated by commas: the server that
 * takes writes is used, also after a failover.
 *
 * Throws `configuration` for an invalid URL or option.
 */
export function postgresStore(url: string, options: PostgresStoreOptions = {}): TaskStore {
  return new PostgresStore(url, settingsOf(url, options));
}

class PostgresStore implements TaskStore {
  readonly sharesLoad = true;
  readonly lease: OwnerLease;
  readonly sessions: SessionStore;
  readonly messages: MessageQueues;
  readonly limits: LimitStore;
  readonly logs: TaskLogs = { read: async (...query) => this.#open().reader.lines(...query) };
  readonly pieces: ArtifactPieces = {
    read: async (...piece) => this.#open().reader.piece(...piece),
    deleteLeft: async () => this.#open().leftPieces.deleteSome(),
  };
  readonly admin: AdminStore;
  readonly outbox: Outbox;
  readonly reports: NodeReports;
  readonly #url: string;
  readonly #settings: Settings;
  readonly #names: Names;
  readonly #sessions: PostgresSessions;
  readonly #claims: ReturnType<typeof claimStatements>;
  readonly #feed = new ChangeFeed();
  readonly #lifecycle = new Lifecycle();
  readonly #hearers = new Set<(isListening: boolean) => void>();
  readonly #onCommit = new Set<(commands: number) => void>();
  #protection = new Protection();
  #parts: OpenParts | undefined;

  constructor(url: string, settings: Settings) {
    this.#url = url;
    this.#settings = settings;
    this.#names = namesIn(settings.schema);
    const holds = (): boolean => this.#parts?.owners.holds !== false;
    this.lease = {
      ms: settings.leaseMs,
      get holds() {
        return holds();
      },
      held: async (...page) => this.#open().owners.held(...page),
    };
    this.#claims = claimStatements(this.#names);
    this.#sessions = new PostgresSessions(this.#names, () => this.#open());
    this.sessions = this.#sessions;
    this.admin = new PostgresAdmin(this.#names, () => this.#open());
    this.outbox = new PostgresOutbox(this.#names, () => this.#open());
    this.reports = new PostgresReports(this.#names, () => this.#open());
    this.messages = new PostgresMessages(this.#names, () => this.#open());
    this.limits = new PostgresLimits(
      this.#names,
      () => this.#open(),
      (tasks) => this.#parts?.channel.send({ tasks }),
    );
  }

  open(owner: StoreOwner): Promise<void> {
    return this.#lifecycle.open(async () => {
      const parts = await openParts({
        url: this.#url,
        settings: this.#settings,
        names: this.#names,
        owner,
        sessions: this.#sessions,
        onCommit: (changes, commands) => {
          this.#publish(changes);
          if (commands > 0) for (const listener of this.#onCommit) listener(commands);
        },
        onChanges: (changes) => this.#feed.publish(changes, "others"),
        onListening: (isListening) => {
          for (const listener of this.#hearers) listener(isListening);
        },
      });
      const { reader, renewals, queue, database } = parts;
      await this.#protection.begin({
        secrets: storedSecrets(renewals.secrets, (command) => queue.write(command)),
        hasTasks: () => reader.hasTasks(),
        encrypt: (sealing) => database.codecs.use(sealing),
        close: () => parts.close(),
      });
      this.#parts = parts;
    });
  }

  protect(protection: Protection): void {
    this.#protection = protection;
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
    const { queue, work } = this.#open();
    assertCommand(command);
    const written = this.#protection.written(command);
    if (written !== undefined) return written;
    const result = this.#protection.shown(await queue.write(command));
    if (command.type === "claim" && "tasks" in result && result.tasks.length < command.tokens.length)
      work.foundNoMore();
    // Any owner may now claim tasks queued for the lost one.
    if (command.type === "reclaim" && result.ok) this.#publish("gap");
    return result;
  }

  async renew(): Promise<Renewal> {
    const { owners, channel } = this.#open();
    const looked = channel.looking();
    return this.#protection.renewed(async () => {
      const renewal = await owners.renew();
      looked(owners.isAlone);
      return renewal;
    });
  }

  async rejoin(): Promise<void> {
    const { owners, channel } = this.#open();
    await owners.register();
    channel.send("gap");
    this.#feed.publish("gap", "others");
  }

  async setHandlers(handlers: readonly HandlerName[]): Promise<void> {
    const { owners, channel } = this.#open();
    await owners.setHandlers(handlers);
    channel.send("gap");
  }

  async get(id: string): Promise<TaskRecord | undefined> {
    return this.#open().reader.get(id);
  }

  async snapshot(
    id: string,
    isVisible?: (task: TaskRecord) => boolean,
    reserve?: ReserveMemory,
  ): Promise<TaskSnapshot | undefined> {
    return this.#open().reader.snapshot(id, isVisible, reserve);
  }

  async request(id: string): Promise<TaskRequest | undefined> {
    return this.#open().reader.request(id);
  }

  async journal(id: string, from: string, limit: number): Promise<JournalPage> {
    return this.#open().reader.journal(id, from, limit);
  }

  async journalEnds(id: string, keys: readonly string[]): Promise<readonly JournalEnd[]> {
    return this.#open().reader.journalEnds(id, keys);
  }

  async journalEntry(id: string, key: string): Promise<JournalEntry | undefined> {
    return this.#open().reader.journalEntry(id, key);
  }

  async find(wire: WireName): Promise<string | undefined> {
    return this.#open().reader.find(wire);
  }

  async withKeys(principal: string | null, prefix: string, limit: number): Promise<readonly KeyedTask[]> {
    return this.#open().reader.withKeys(principal, prefix, limit);
  }

  async list(
    owner: TaskFilter,
    before: string | null,
    limit: number,
    now: number,
  ): Promise<readonly TaskRecord[]> {
    return this.#open().reader.list(owner, before, limit, now);
  }

  async unfinished(after: string, limit: number): Promise<readonly TaskRecord[]> {
    return this.#open().reader.unfinished(after, limit);
  }

  async hasClaimable(handlers: readonly ClaimingHandler[]): Promise<boolean> {
    const { database, owners, work } = this.#open();
    const queries = { query: database.read.bind(database) };
    const found = await hasRunnable(queries, this.#claims, handlers, owners.id);
    if (!found) work.foundNoMore();
    return found;
  }

  async orphanedHandlers(): Promise<readonly HandlerName[]> {
    return this.#open().reader.orphanedHandlers();
  }

  async queued(handler: HandlerName, page: QueuedPage): Promise<readonly string[]> {
    return this.#open().reader.queued(handler, page);
  }

  async due(now: number, limit: number): Promise<readonly string[]> {
    return this.#open().reader.due(now, limit);
  }

  async nextSweepAt(after: number): Promise<number | null> {
    return this.#open().reader.nextSweepAt(after);
  }

  subscribe(listener: ChangeListener): () => void {
    return this.#feed.subscribe(listener);
  }

  onWork(listener: WorkListener): () => void {
    return this.#open().work.onWork(listener);
  }

  onListening(listener: (isListening: boolean) => void): void {
    this.#hearers.add(listener);
  }

  onCommit(listener: (commands: number) => void): void {
    this.#onCommit.add(listener);
  }

  #publish(changes: StoreChanges): void {
    this.#feed.publish(changes, "self");
    if (changes === "gap") this.#parts?.channel.send(changes);
    else if (changes.length > 0) this.#parts?.channel.send({ tasks: changes });
  }

  #open(): OpenParts {
    this.#lifecycle.assertOpen();
    if (this.#parts === undefined) throw new HoldfastError("store_closed", "The store is not open.");
    this.#protection.assertHeld();
    return this.#parts;
  }
}
