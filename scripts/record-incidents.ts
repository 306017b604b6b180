// Records what Prometheus reads in each incident, for the tests of the alerts: npm run docs:incidents [-- NAME…]. The servers are real, and so
// is what goes wrong with them, but their clocks run faster. It needs libfaketime, and to be root: one incident is a full disk.
import { execFileSync, fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { connect, type TaskHandle } from "holdfast/client";
import { format, resolveConfig } from "prettier";
import { OwnServer } from "../test/postgres/own-server.ts";
import { withClient } from "../test/postgres/with-client.ts";
import { alerts } from "./alerts.ts";

const everyMs = 15_000;
const library = process.env["FAKETIME_LIBRARY"] ?? "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
const program = fileURLToPath(new URL("./incidents/server.ts", import.meta.url));
const output = fileURLToPath(new URL("../test/examples/recorded-incidents.json", import.meta.url));

/** What was read, as promtool writes series: a value each 15 seconds. */
export interface RecordedIncident {
  readonly readings: number;
  readonly series: Readonly<Record<string, string>>;
}

const all = alerts.map(({ expr }) => expr).join(" ");
/** Of the metrics that alerts look at. Histograms of writes have hundreds of buckets: these few say whether they are slow. */
const isUsed = (line: string, buckets: boolean): boolean => {
  const name = /^\w+/.exec(line)?.[0] ?? "";
  if (name === "" || !new RegExp(`\\b${name}\\b`).test(all)) return false;
  return !name.endsWith("_bucket") || (buckets && /[{,]le="(?:0\.5|1|2|\+Inf)"/.test(line));
};

class Node {
  readonly instance: string;
  readonly origin: string;
  readonly child: ChildProcess;

  constructor(instance: string, origin: string, child: ChildProcess) {
    this.instance = instance;
    this.origin = origin;
    this.child = child;
  }

  /** Calls a tool; undefined if the server refuses it. */
  async call(tool: string): Promise<TaskHandle | undefined> {
    const client = await connect(`${this.origin}/mcp`).catch(() => undefined);
    try {
      return await client?.startTool(tool, {});
    } catch {
      return undefined;
    } finally {
      await client?.close();
    }
  }

  async kill(signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<void> {
    const ended = once(this.child, "exit");
    this.child.kill(signal);
    await ended;
  }
}

/** One incident: its servers, and a Prometheus that reads them. */
class Stage {
  readonly folder: string;
  readsDisk = false;
  readsBuckets = false;
  /** How long the loop does not answer is seldom looked at: the pauses of a busy machine are long by a clock that runs fast. */
  readsLoop = false;
  /** How many of its seconds pass in one. */
  speed = 20;
  readonly #begunAt = performance.now();
  readonly #nodes = new Map<string, Node>();
  #postgres: OwnServer | undefined;
  #behindS = 0;
  readonly #series = new Map<string, string[]>();
  #readings = 0;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Its clock is that of the others, or ahead of it by so many seconds. */
  async start(env: Readonly<Record<string, string>> = {}, instance = "a", aheadS = 0): Promise<Node> {
    const store = this.#postgres?.url ?? `sqlite:${join(this.folder, "tasks.db")}`;
    const child = fork(program, [store], { env: { ...process.env, ...env, ...this.#time(aheadS) } });
    const ended = once(child, "exit").then(() => Promise.reject(new Error("The server did not start.")));
    const [origin] = (await Promise.race([once(child, "message"), ended])) as [string];
    ended.catch(() => undefined);
    const node = new Node(instance, origin, child);
    this.#nodes.set(instance, node);
    return node;
  }

  /** From now on, what starts has its tasks in a Postgres, which has the same time. */
  async startPostgres(): Promise<OwnServer> {
    this.speed = 4; // it takes its time to accept connections, and they have a time limit
    Object.assign(process.env, this.#time(0));
    try {
      this.#postgres = await OwnServer.start();
    } finally {
      for (const name of Object.keys(this.#time(0))) delete process.env[name];
    }
    // Its time began when it did, and not when it was asked for.
    const { url } = this.#postgres;
    const query = "select extract(epoch from clock_timestamp()) as now";
    const { rows } = await withClient(url, (client) => client.query<{ now: string }>(query));
    this.#behindS = Date.now() / 1_000 + this.#passedS - Number(rows[0]?.now);
    return this.#postgres;
  }

  /** By how much its time is ahead of this machine's. */
  get #passedS(): number {
    return ((performance.now() - this.#begunAt) / 1_000) * (this.speed - 1);
  }

  #time(aheadS: number): Readonly<Record<string, string>> {
    const offsetS = this.#passedS - this.#behindS + aheadS;
    return { LD_PRELOAD: library, FAKETIME: `+${offsetS.toFixed(3)} x${this.speed}` };
  }

  /** Reads as Prometheus does, for so long; `between` comes before each reading. */
  async minutes(minutes: number, between: () => unknown = () => undefined): Promise<void> {
    for (let reading = 0; reading < minutes * 4; reading++) {
      await between();
      const at = this.#begunAt + (this.#readings * everyMs) / this.speed;
      await pause(Math.max(0, at - performance.now()));
      await this.#read();
    }
  }

  async end(): Promise<RecordedIncident> {
    for (const { child } of this.#nodes.values()) child.kill("SIGKILL");
    await this.#postgres?.end();
    this.#postgres = undefined;
    const series = [...this.#series].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return {
      readings: this.#readings,
      series: Object.fromEntries(series.map(([name, values]) => [name, written(values)])),
    };
  }

  async #read(): Promise<void> {
    const now = new Map<string, string>();
    await Promise.all([...this.#nodes.values()].map((node) => this.#scrape(node, now)));
    if (this.readsDisk) {
      // As the node exporter reports it.
      const { bavail, blocks, bsize } = statfsSync(this.folder);
      const disk = 'instance="db",mountpoint="/data",fstype="ext4"';
      now.set(`node_filesystem_avail_bytes{${disk}}`, String(bavail * bsize));
      now.set(`node_filesystem_size_bytes{${disk}}`, String(blocks * bsize));
    }
    for (const name of now.keys())
      if (!this.#series.has(name))
        this.#series.set(
          name,
          Array.from({ length: this.#readings }, () => "_"),
        );
    for (const [name, values] of this.#series) {
      const isGone = !["_", "stale"].includes(values.at(-1) ?? "_");
      values.push(now.get(name) ?? (isGone ? "stale" : "_"));
    }
    this.#readings++;
  }

  /** A reading that fails ends the series of a server, but that of `up`. */
  async #scrape({ instance, origin }: Node, into: Map<string, string>): Promise<void> {
    const up = `up{job="holdfast",instance="${instance}"}`;
    try {
      const answer = await fetch(`${origin}/metrics`, {
        headers: { authorization: "Bearer token-of-the-recorder" },
        signal: AbortSignal.timeout(10_000 / this.speed),
      });
      if (!answer.ok) throw new Error(`It answered ${answer.status}.`);
      for (const line of (await answer.text()).split("\n")) {
        if (!isUsed(line, this.readsBuckets) || (!this.readsLoop && /^\w+loop/.test(line))) continue;
        const [, name = "", labels, value = ""] = /^(\w+)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
        const own = (labels ?? "").split(",").filter((label) => label !== "" && !label.startsWith("otel_"));
        const known = ['job="holdfast"', `instance="${instance}"`];
        into.set(`${name}{${[...known, ...own].join(",")}}`, String(Number(Number(value).toPrecision(6))));
      }
      into.set(up, "1");
    } catch {
      into.set(up, "0");
    }
  }
}

/** The values as promtool takes them, where `5x3` is 5 four times, and `_x3` nothing three times. */
function written(values: readonly string[]): string {
  const runs: { readonly value: string; count: number }[] = [];
  for (const value of values) {
    const last = runs.at(-1);
    if (last?.value === value) last.count++;
    else runs.push({ value, count: 1 });
  }
  return runs
    .map(({ value, count }) => {
      if (value === "_") return `_x${count}`;
      return count === 1 || value === "stale" ? value : `${value}x${count - 1}`;
    })
    .join(" ");
}

const incidents: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  "all is well": async (stage) => {
    const node = await stage.start();
    await stage.minutes(10, () => node.call("publish"));
  },
  "the server is down": async (stage) => {
    const node = await stage.start();
    await stage.minutes(1);
    await node.kill();
    await stage.minutes(7);
  },
  "a crash loop": async (stage) => {
    for (let life = 0; life < 10; life++) {
      const node = await stage.start();
      for (const tool of ["hold", "hold", "hold"]) await node.call(tool);
      await stage.minutes(0.5);
      await node.kill();
      await stage.minutes(0.25);
    }
  },
  "an owner is lost": async (stage) => {
    const [, lost] = [await stage.start(), await stage.start({}, "b")];
    await lost.call("hold");
    await stage.minutes(1);
    await lost.kill();
    await stage.minutes(3);
  },
  "a process stands still": async (stage) => {
    await stage.startPostgres();
    const [, still] = [await stage.start(), await stage.start({}, "b")];
    await still.call("hold");
    await stage.minutes(1);
    still.child.kill("SIGSTOP");
    await stage.minutes(0.75);
    still.child.kill("SIGCONT");
    await stage.minutes(4);
  },
  "many deploys": async (stage) => {
    for (let life = 0; life < 13; life++) {
      const node = await stage.start();
      await stage.minutes(0.5, () => node.call("publish"));
      await node.kill("SIGTERM");
    }
    await stage.start();
    await stage.minutes(1);
  },
  "a tool fails": async (stage) => {
    const node = await stage.start();
    await stage.minutes(1, () => node.call("publish"));
    await stage.minutes(13, async () => {
      for (const tool of ["publish", "charge"]) await node.call(tool);
    });
  },
  "tasks do not fit the code": async (stage) => {
    const before = await stage.start();
    await before.call("move");
    await stage.minutes(1);
    await before.kill();
    await stage.start({ VERSION: "2" });
    await stage.minutes(6);
  },
  "a backlog": async (stage) => {
    const node = await stage.start({ CONCURRENCY: "1" });
    await node.call("hold");
    for (let call = 0; call < 5; call++) await node.call("publish");
    await stage.minutes(17);
  },
  "the receiver of a webhook is gone": async (stage) => {
    const node = await stage.start({ WEBHOOK: "http://127.0.0.1:9/tasks" });
    await node.call("publish");
    await stage.minutes(22);
  },
  "a receiver that is gone for days": async (stage) => {
    const receiver = { WEBHOOK: "http://127.0.0.1:9/tasks" };
    const node = await stage.start(receiver);
    await node.call("publish");
    await stage.minutes(1);
    await node.kill("SIGTERM");
    await stage.start(receiver, "a", 4 * 24 * 3_600);
    await stage.minutes(3);
  },
  "connections that are cut": async (stage) => {
    const { url } = await stage.startPostgres();
    await stage.start();
    const cut = "select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen%'";
    await stage.minutes(5, () => withClient(url, (client) => client.query(cut)));
  },
  "a clock that is wrong": async (stage) => {
    await stage.startPostgres();
    await stage.start({}, "a", 60);
    await stage.minutes(4);
  },
  "a client that sends nonsense": async (stage) => {
    const node = await stage.start();
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const ask = async (): Promise<void> => {
      const answer = await fetch(`${node.origin}/mcp`, { method: "POST", headers, body });
      await answer.text();
    };
    // Connections that have waited are closed: with this clock, soon.
    await stage.minutes(22, () => Promise.allSettled(Array.from({ length: 40 }, ask)));
  },
  "a file that others lock": async (stage) => {
    stage.readsBuckets = true;
    const node = await stage.start();
    const other = new DatabaseSync(join(stage.folder, "tasks.db"), { timeout: 5_000 });
    await stage.minutes(12, async () => {
      other.exec("BEGIN IMMEDIATE");
      const call = node.call("publish");
      await pause(3_000 / stage.speed);
      other.exec("COMMIT");
      await call;
    });
    other.close();
  },
  "a damaged task": async (stage) => {
    const node = await stage.start();
    await node.call("move");
    const other = new DatabaseSync(join(stage.folder, "tasks.db"), { timeout: 5_000 });
    await stage.minutes(1);
    other.exec("UPDATE task SET progress = '{'");
    other.close();
    await stage.minutes(4);
  },
  "a full disk": async (stage) => {
    stage.readsDisk = true;
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=4m", "holdfast", stage.folder]);
    try {
      const node = await stage.start();
      await stage.minutes(1, () => node.call("publish"));
      try {
        writeFileSync(join(stage.folder, "filler"), Buffer.alloc(8 << 20));
      } catch {
        // It is full.
      }
      await stage.minutes(7, () => node.call("publish"));
      await node.kill();
    } finally {
      execFileSync("umount", [stage.folder]);
    }
  },
  "a blocked loop": async (stage) => {
    stage.readsLoop = true;
    const node = await stage.start();
    await stage.minutes(1);
    await stage.minutes(7, () => node.call("hash"));
  },
  "a slow loop": async (stage) => {
    stage.readsLoop = true;
    const node = await stage.start();
    await node.call("churn");
    await stage.minutes(8);
  },
  "a handler that goes on": async (stage) => {
    const node = await stage.start();
    const client = await connect(`${node.origin}/mcp`);
    await (await client.startTool("leak", {})).cancel();
    await client.close();
    await stage.minutes(17);
  },
};

const chosen = process.argv.slice(2);
const recorded = new Map<string, RecordedIncident>(
  chosen.length === 0 ? [] : Object.entries(JSON.parse(readFileSync(output, "utf8")) as object),
);
for (const [name, run] of Object.entries(incidents)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  const folder = mkdtempSync(join(tmpdir(), "holdfast-incident-"));
  const stage = new Stage(folder);
  try {
    await run(stage);
    recorded.set(name, await stage.end());
    console.log(name);
  } finally {
    await stage.end();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
const options = await resolveConfig(output);
writeFileSync(
  output,
  await format(JSON.stringify(Object.fromEntries(recorded)), { ...options, filepath: output }),
);
