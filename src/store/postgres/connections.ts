import type { Client, Pool } from "pg";
import { HoldfastError } from "../../task/fault.ts";

/** An integer of eight bytes comes as text unless it is told otherwise; those of ours are all safe as numbers. */
const int8 = 20;

/** How much longer a call waits than its statement may take (ms): the database says better what is wrong than a timer does. */
const graceMs = 1_000;

const name = "holdfast";

async function driver(): Promise<typeof import("pg")> {
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
  const { default: pg } = await driver();
  const types = {
    getTypeParser: ((oid: number, format?: "text" | "binary") =>
      oid === int8 ? Number : pg.types.getTypeParser(oid, format as "text")) as typeof pg.types.getTypeParser,
  };
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
  const { default: pg } = await driver();
  const client = new pg.Client({
    connectionString: url,
    keepAlive: true,
    application_name: `${name} listener`,
    connectionTimeoutMillis: timeoutMs,
  });
  await client.connect();
  return client;
}

/** Messages end up in logs. */
export function withoutPassword(url: string): string {
  return url.replace(/\/\/[^/@]*@/, "//");
}
