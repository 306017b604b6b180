import type { CommandResult, TaskCommand } from "../../task/command.ts";
import type { ClaimingHandler, HandlerName, StoreOwner } from "../../task/queue.ts";
import type { TaskRecord, TaskRequest, TaskSnapshot } from "../../task/record.ts";
import type { AdminStore, NodeReports } from "../admin-store.ts";
import type { Reading } from "../dialect.ts";
import type { OwnerLease, Renewal, ReserveMemory, StoreChanges, TaskStore, WorkListener } from "../store.ts";
import type { LimitStore } from "../limits.ts";
import type { MessageQueues, SessionStore } from "../session-store.ts";
import type { Codec } from "../row.ts";
import { TableStore } from "../table-store.ts";
import { claimStatements, hasRunnable } from "./claims.ts";
import { namesIn, type Names } from "./names.ts";
import { openParts, type OpenParts } from "./open-parts.ts";
import { settingsOf, type PostgresStoreOptions, type Settings } from "./options.ts";
import { outboxStatements, postgresAdmin, postgresReports } from "./postgres-admin.ts";
import { postgresLimits } from "./postgres-limits.ts";
import { PostgresMessages } from "./postgres-messages.ts";
import { PostgresSessions } from "./postgres-sessions.ts";
import { readStatements } from "./read-sql.ts";
import { readsOf } from "./read-task.ts";

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

class PostgresStore extends TableStore<OpenParts> implements TaskStore {
  readonly sharesLoad = true;
  readonly lease: OwnerLease;
  readonly sessions: SessionStore;
  readonly messages: MessageQueues;
  readonly limits: LimitStore;
  readonly admin: AdminStore;
  readonly reports: NodeReports;
  readonly #url: string;
  readonly #settings: Settings;
  readonly #names: Names;
  readonly #sessions: PostgresSessions;
  readonly #claims: ReturnType<typeof claimStatements>;
  readonly #hearers = new Set<(isListening: boolean) => void>();

  constructor(url: string, settings: Settings) {
    const names = namesIn(settings.schema);
    super(readStatements(names), outboxStatements(names));
    this.#url = url;
    this.#settings = settings;
    this.#names = names;
    const open = (): OpenParts => this.opened();
    const holds = (): boolean => this.parts?.owners.holds !== false;
    this.lease = {
      ms: settings.leaseMs,
      get holds() {
        return holds();
      },
      held: async (...page) => open().owners.held(...page),
    };
    this.#claims = claimStatements(names);
    this.#sessions = new PostgresSessions(names, open);
    this.sessions = this.#sessions;
    this.admin = postgresAdmin(names, open);
    this.reports = postgresReports(names, open);
    this.messages = new PostgresMessages(names, open);
    this.limits = postgresLimits(names, open, (tasks) => this.parts?.channel.send({ tasks }));
  }

  protected join(owner: StoreOwner): Promise<OpenParts> {
    return openParts({
      url: this.#url,
      settings: this.#settings,
      names: this.#names,
      owner,
      sessions: this.#sessions,
      onCommit: (changes, commands) => this.#publish(changes, commands),
      onChanges: (changes) => this.feed.publish(changes, "others"),
      onListening: (isListening) => {
        for (const listener of this.#hearers) listener(isListening);
      },
    });
  }

  protected readFrom<T>(
    { database }: OpenParts,
    reading: (codec: Codec) => Reading<T>,
    task: string | undefined,
  ): Promise<T> {
    return readsOf(() => database)(reading, task);
  }

  protected async apply({ queue, work }: OpenParts, command: TaskCommand): Promise<CommandResult> {
    const result = await queue.write(command);
    if (command.type === "claim" && "tasks" in result && result.tasks.length < command.tokens.length)
      work.foundNoMore();
    // Any owner may now claim tasks queued for the lost one.
    if (command.type === "reclaim" && result.ok) this.#publish("gap", 0);
    return result;
  }

  async renew(): Promise<Renewal> {
    const { owners, channel } = this.opened();
    const looked = channel.looking();
    return this.protection.renewed(async () => {
      const renewal = await owners.renew();
      looked(owners.isAlone);
      return renewal;
    });
  }

  async rejoin(): Promise<void> {
    const { owners, channel } = this.opened();
    await owners.register();
    channel.send("gap");
    this.feed.publish("gap", "others");
  }

  async setHandlers(handlers: readonly HandlerName[]): Promise<void> {
    const { owners, channel } = this.opened();
    await owners.setHandlers(handlers);
    channel.send("gap");
  }

  async get(id: string): Promise<TaskRecord | undefined> {
    return this.opened().reader.get(id);
  }

  async snapshot(
    id: string,
    isVisible?: (task: TaskRecord) => boolean,
    reserve?: ReserveMemory,
  ): Promise<TaskSnapshot | undefined> {
    return this.opened().reader.snapshot(id, isVisible, reserve);
  }

  async request(id: string): Promise<TaskRequest | undefined> {
    return this.opened().reader.request(id);
  }

  async hasClaimable(handlers: readonly ClaimingHandler[]): Promise<boolean> {
    const { database, owners, work } = this.opened();
    const queries = { query: database.read.bind(database) };
    const found = await hasRunnable(queries, this.#claims, handlers, owners.id);
    if (!found) work.foundNoMore();
    return found;
  }

  async orphanedHandlers(): Promise<readonly HandlerName[]> {
    return this.opened().reader.orphanedHandlers();
  }

  async nextSweepAt(after: number): Promise<number | null> {
    return this.opened().reader.nextSweepAt(after);
  }

  onWork(listener: WorkListener): () => void {
    return this.opened().work.onWork(listener);
  }

  onListening(listener: (isListening: boolean) => void): void {
    this.#hearers.add(listener);
  }

  #publish(changes: StoreChanges, commands: number): void {
    this.committed(changes, commands);
    if (changes === "gap") this.parts?.channel.send(changes);
    else if (changes.length > 0) this.parts?.channel.send({ tasks: changes });
  }
}
