import type * as Driver from "pg";
import type { Client, Pool } from "pg";
import { HoldfastError } from "../../task/fault.ts";
import { Database } from "./database.ts";
import { messageOf, refuseStandby } from "./postgres-error.ts";
import { Servers } from "./work-sharing.ts";

/** How much longer a call waits than its statement may take (ms): the database reports problems better than a timer does. */
const graceMs = 1_000;

const name = "holdfast";

async function driver(): Promise<typeof Driver> {
  try {
    return await import("pg");
  } catch (error) {
    throw new HoldfastError("configuration", "The Postgres store needs the package pg: npm install pg", {
      cause: error,
    });
  }
}

export interface PoolSetup {
  readonly url: string;
  readonly max: number;
  /** How long a connection and, except in a patient pool, a statement may take (ms). */
  readonly timeoutMs: number;
  readonly isPatient?: boolean;
  /** Whether its servers may be standbys. */
  readonly isReplica?: boolean;
  /** Whether its connections keep statements; undefined: where nothing is between them and the server. */
  readonly prepares?: boolean | undefined;
}

/** A database behind a URL, whose servers may change roles. Connects nothing yet. */
export async function openDatabase(setup: PoolSetup): Promise<Database> {
  const servers = new Servers(setup.url);
  const { timeoutMs, isPatient = false, isReplica = false, prepares } = setup;
  return new Database(await openPool(setup, servers), timeoutMs, {
    servers,
    limitsAll: !isPatient,
    isReplica,
    prepares,
  });
}

/** Connections on which statements are sent without waiting for earlier ones. Connects nothing yet. */
export async function openPool(
  { url, max, timeoutMs, isPatient = false }: PoolSetup,
  servers = new Servers(url),
): Promise<Pool> {
  const pg = await driver();
  class CurrentClient extends pg.Client {
    constructor(config: Driver.ClientConfig = {}) {
      super({ ...config, connectionString: servers.current });
    }
  }
  // An integer of eight bytes would come as text; ours are all safe as numbers.
  const types = new pg.TypeOverrides();
  types.setTypeParser(pg.types.builtins.INT8, Number);
  return new pg.Pool({
    Client: CurrentClient,
    max,
    types,
    pipeline: true,
    keepAlive: true,
    application_name: name,
    connectionTimeoutMillis: timeoutMs,
    ...(!isPatient && { query_timeout: timeoutMs + graceMs }),
  });
}

/** A separate connection to the server that takes writes; it stays open. */
export async function connectDirectly(servers: Servers, timeoutMs: number): Promise<Client> {
  const pg = await driver();
  return servers.each(async (connectionString) => {
    const client = new pg.Client({
      connectionString,
      keepAlive: true,
      application_name: `${name} listener`,
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
    });
    client.on("error", () => undefined);
    try {
      await client.connect();
      await refuseStandby(client);
      return client;
    } catch (error) {
      client.connection.stream.destroy();
      throw error;
    }
  });
}

/** A connection for work without a time limit, closed afterwards. */
export async function withPatience<T>(
  url: string,
  timeoutMs: number,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await openDatabase({ url, max: 1, timeoutMs, isPatient: true });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** `store_unusable` with the place of the database. More specific errors, about one task or the schema, stay as they are. */
export function unusableAt(url: string, error: unknown): HoldfastError {
  if (error instanceof HoldfastError && error.code !== "store_failed") return error;
  const cause = error instanceof HoldfastError ? error.cause : error;
  const problem = `${withoutPassword(url) || "The database that PGHOST and PGDATABASE name"} cannot be used: ${messageOf(cause)}.`;
  return new HoldfastError("store_unusable", problem, { cause: error });
}

/** Messages end up in logs. A password may have any characters, and may be among the parameters. */
function withoutPassword(url: string): string {
  return url.replace(/\/\/.*@/s, "//").replace(/\?.*$/s, "");
}
