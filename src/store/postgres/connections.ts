import type * as Driver from "pg";
import type { Client, Pool } from "pg";
import { HoldfastError } from "../../task/fault.ts";
import { messageOf } from "./postgres-error.ts";

/** How much longer a call waits than its statement may take (ms): the database says better what is wrong than a timer does. */
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

/** Connections on which statements are sent without waiting for those before them. Nothing is connected yet. */
export async function openPool(url: string, max: number, timeoutMs: number | null): Promise<Pool> {
  const pg = await driver();
  // An integer of eight bytes would come as text; those of ours are all safe as numbers.
  const types = new pg.TypeOverrides();
  types.setTypeParser(pg.types.builtins.INT8, Number);
  return new pg.Pool({
    connectionString: url,
    max,
    types,
    pipeline: true,
    keepAlive: true,
    application_name: name,
    ...(timeoutMs !== null && {
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs + graceMs,
    }),
  });
}

/** A connection of its own, which stays open. */
export async function connectDirectly(url: string, timeoutMs: number): Promise<Client> {
  const pg = await driver();
  const client = new pg.Client({
    connectionString: url,
    keepAlive: true,
    application_name: `${name} listener`,
    connectionTimeoutMillis: timeoutMs,
  });
  await client.connect();
  return client;
}

/** `store_unusable` with where the database is; what says more about one task or the schema is left as it is. */
export function unusableAt(url: string, error: unknown): unknown {
  if (error instanceof HoldfastError && error.code !== "store_failed") return error;
  const cause = error instanceof HoldfastError ? error.cause : error;
  return new HoldfastError("store_unusable", `${withoutPassword(url)} cannot be used: ${messageOf(cause)}.`, {
    cause: error,
  });
}

/** Messages end up in logs. */
function withoutPassword(url: string): string {
  return url.replace(/\/\/[^/@]*@/, "//");
}
