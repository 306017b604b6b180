import { setTimeout as pause } from "node:timers/promises";
import { DatabaseProxy } from "../postgres/database-proxy.ts";
import { OwnServer } from "../postgres/own-server.ts";
import { withClient } from "../postgres/with-client.ts";

/** A primary server and a standby that streams from it, and the two wires that can fail: between them, and to the clients. */
export class Pair implements AsyncDisposable {
  /** Its URL is that of the database: it leads to the primary server until a test says otherwise. */
  readonly wire: DatabaseProxy;
  readonly primary: OwnServer;
  readonly standby: OwnServer;
  /** Between the servers. */
  readonly replication: DatabaseProxy;

  private constructor(
    primary: OwnServer,
    standby: OwnServer,
    replication: DatabaseProxy,
    wire: DatabaseProxy,
  ) {
    this.primary = primary;
    this.standby = standby;
    this.replication = replication;
    this.wire = wire;
  }

  /** Resolves when the standby follows. */
  static async start(kind: "synchronous" | "asynchronous"): Promise<Pair> {
    const primary = await OwnServer.start({ synchronous_commit: "on" });
    const replication = await DatabaseProxy.before(primary.url);
    await primary.stop("fast");
    const standby = await primary.standby(replication.url);
    await primary.start();
    const pair = new Pair(primary, standby, replication, await DatabaseProxy.before(primary.url));
    try {
      if (kind === "synchronous") {
        await pair.ask("alter system set synchronous_standby_names = 'standby'");
        await pair.ask("select pg_reload_conf()");
      }
      const state = kind === "synchronous" ? "sync" : "async";
      await pair.until(
        `select 1 from pg_stat_replication where state = 'streaming' and sync_state = '${state}'`,
      );
      return pair;
    } catch (error) {
      await pair[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Rows of a statement on a server, which is the primary one if none is given. */
  async ask(sql: string, server = this.primary): Promise<readonly Record<string, unknown>[]> {
    const { rows } = await withClient(server.url, (client) => client.query<Record<string, unknown>>(sql));
    return rows;
  }

  /** Resolves when a statement returns rows. */
  async until(sql: string, server = this.primary): Promise<void> {
    while ((await this.ask(sql, server)).length === 0) await pause(50);
  }

  /** Ends connections that wait for the standby, as an operator does, or a hurried restart. */
  async endWaits(how: "pg_terminate_backend" | "pg_cancel_backend" = "pg_terminate_backend"): Promise<void> {
    await this.until("select 1 from pg_stat_activity where wait_event = 'SyncRep'");
    await this.ask(`select ${how}(pid) from pg_stat_activity where wait_event = 'SyncRep'`);
  }

  /** The primary server is lost with what it has not sent. */
  async lose(): Promise<void> {
    this.wire.refuse();
    this.replication.refuse();
    await this.primary.stop("immediate");
  }

  /** The standby becomes the primary server, and the address leads to it. */
  async promote(): Promise<void> {
    await this.ask("select pg_promote()", this.standby);
    this.wire.lead(this.standby.url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.wire[Symbol.asyncDispose](), this.replication[Symbol.asyncDispose]()]);
    await Promise.all([this.primary.end(), this.standby.end()]);
  }
}
