import { nameOfProcess } from "../places/store-at.ts";
import { withClient } from "./with-client.ts";

/**
 * Has the database know that a process was killed: what it still does for that comes to its end, whichever, and the lease is over. Nobody
 * need wait for that.
 */
export async function endProcess(url: string, schema: string, pid: number): Promise<void> {
  await withClient(url, async (client) => {
    const ours = "datname = current_database() and application_name = $1";
    await client.query(`select pg_terminate_backend(pid, 10000) from pg_stat_activity where ${ours}`, [
      nameOfProcess(pid),
    ]);
    const { rows } = await client.query<{ found: unknown }>("select to_regclass($1) as found", [
      `${schema}.owner`,
    ]);
    if (rows[0]?.found === null) return; // it was killed before it made the tables
    await client.query(`update "${schema}".owner set lease_until = '-infinity' where pid = $1`, [pid]);
  });
}
