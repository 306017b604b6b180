// Has a PgBouncer in front of a database, and ends it when its stdin ends, however its parent ended: node pgbouncer-supervisor.ts URL POOL_SIZE MODE.
// Prints one line: where it serves, or why it cannot.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { giveAway, unprivileged } from "./binaries.ts";
import { freePort } from "./free-port.ts";
import { installPgBouncer, type Installation } from "./install-pgbouncer.ts";
import type { PgBouncerReply } from "./pgbouncer.ts";

const [database = "", poolSize = "10", mode = "transaction"] = process.argv.slice(2);

// Whoever ends a run ends its parent, too; what it wrote is to be removed by then.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
process.stdout.on("error", () => undefined);
const parentEnded = once(process.stdin.resume(), "close");

const reply = (said: PgBouncerReply): void => console.log(JSON.stringify(said));

/** All its clients are the user of the URL: who may connect is not what it is there for. */
function configuration(port: number): string {
  const { hostname, port: serverPort, username, password } = new URL(database);
  const login = { host: hostname, port: serverPort || "5432", user: username, password };
  const server = Object.entries(login).flatMap(([key, value]) =>
    value === "" ? [] : [`${key}='${decodeURIComponent(value).replaceAll("'", "''")}'`],
  );
  return [
    "[databases]",
    `* = ${server.join(" ")}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    `pool_mode = ${mode}`,
    "max_client_conn = 200",
    `default_pool_size = ${poolSize}`,
    "",
  ].join("\n");
}

async function serve(folder: string, { command, env }: Installation): Promise<void> {
  const port = await freePort();
  const file = join(folder, "pgbouncer.ini");
  await writeFile(file, configuration(port));
  await giveAway(folder);
  const options = { ...unprivileged, env, cwd: folder };
  const child = spawn(command, [file], { ...options, stdio: ["ignore", "ignore", "pipe"] });
  const exited = once(child, "exit");
  let said = "";
  let isUp = false;
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    said = (said + chunk).slice(-10_000);
    if (isUp || !said.includes("process up")) return;
    isUp = true;
    const url = new URL(database);
    url.host = `127.0.0.1:${port}`;
    reply({ url: url.href });
  });
  const ended = await Promise.race([parentEnded, exited.then(() => "by itself" as const)]);
  if (ended === "by itself") throw new Error(`PgBouncer ended: ${said}`);
  // At once, whoever is connected.
  child.kill("SIGTERM");
  await exited;
}

const folder = await mkdtemp(join(tmpdir(), "holdfast-pgbouncer-"));
try {
  const installation = await installPgBouncer(folder).catch((error: unknown) => String(error));
  if (typeof installation === "string") reply({ missing: `There is no PgBouncer here: ${installation}` });
  else await serve(folder, installation);
} finally {
  await rm(folder, { recursive: true, force: true });
}
