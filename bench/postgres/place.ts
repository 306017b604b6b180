import { randomBytes } from "node:crypto";
import { withClient } from "../../test/postgres/with-client.ts";

/** A database to measure. */
export interface Place {
  readonly url: string;
  /** The process that accepts its connections, if it runs on this machine and has no other users. */
  readonly pid?: number;
}

/** Gives `work` unused schema names. Then drops these schemas, and those whose names begin with one of them. */
export async function withSchemas<T>(
  { url }: Place,
  work: (freshName: () => string) => Promise<T>,
): Promise<T> {
  const prefix = `bench_${randomBytes(6).toString("hex")}`;
  let count = 0;
  try {
    return await work(() => `${prefix}_${count++}`);
  } finally {
    await withClient(url, async (client) => {
      const { rows } = await client.query<{ name: string }>(
        "select nspname as name from pg_namespace where starts_with(nspname, $1)",
        [prefix],
      );
      for (const { name } of rows) await client.query(`drop schema ${client.escapeIdentifier(name)} cascade`);
    });
  }
}
