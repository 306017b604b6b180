// Is in the middle of a write to a database until it is ended: node hold-database.ts DATABASE. Prints a line once it is.
import { DatabaseSync } from "node:sqlite";
import { Client } from "pg";
import { defaultSchema, isUrl } from "../places/store-at.ts";

const [at = ""] = process.argv.slice(2);

/** Others read on, and none writes. */
async function hold(): Promise<() => unknown> {
  if (isUrl(at)) {
    const client = new Client({ connectionString: at });
    await client.connect();
    await client.query(`begin; lock table "${defaultSchema}".task in exclusive mode`);
    return () => client;
  }
  const db = new DatabaseSync(at, { timeout: 5_000 });
  db.exec("BEGIN IMMEDIATE");
  return () => db.isTransaction;
}

const look = await hold();
process.stdout.write("held\n");
setInterval(look, 60_000);
