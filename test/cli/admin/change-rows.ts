import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { withClient } from "../../postgres/with-client.ts";
import type { Place } from "./some-place.ts";

/** Changes rows of a store behind its back, between two writes of a server that has it open. */
export async function change({ url, cwd }: Place, sql: string): Promise<void> {
  if (url.startsWith("sqlite:")) {
    const db = new DatabaseSync(join(cwd, "tasks.db"), { timeout: 20_000 });
    db.exec(sql);
    db.close();
    return;
  }
  const schema = new URL(url).searchParams.get("schema") ?? "";
  await withClient(url.replace(/\?.*$/, ""), async (client) => {
    await client.query(`SET search_path = ${schema}`);
    await client.query(sql);
  });
}
