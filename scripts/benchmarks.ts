// Makes docs/internals/benchmarks.md and its charts from what the benches kept in bench/results: npm run docs:bench
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { format, resolveConfig } from "prettier";
import type { Measurement } from "../bench/figures/figure.ts";
import { asMarkdown, type KeptBench, keptRows, machineText } from "../bench/report.ts";
import { chart, type Line } from "../bench/scale/chart.ts";
import type { MeasuredSystem, Peers } from "../bench/systems/main.ts";

export const benchmarksUrl = new URL("../docs/internals/benchmarks.md", import.meta.url);
export const chartsUrl = new URL("../docs/internals/charts/", import.meta.url);

/** Why a figure does not reach its goal: what a limit consists of. */
export const limits: Readonly<Record<string, string>> = {
  "tasks-get":
    "Each poll asks SQLite whether anything was written, looks at what the request says and who may send it, and builds its answer. The bare server does nothing of this.",
  "tasks-get-hono":
    "As `tasks-get`, and each request becomes a web `Request`, which costs as much as Node's HTTP itself.",
  "tasks-get-running": "As `tasks-get`; its handler writes once in a second.",
  "tasks-get-session": "As `tasks-get`.",
  create: "A commit on disk, which many calls share.",
  "create-sdk":
    "A task is on disk before it is answered, runs, and is stored again. A plain call stores nothing.",
  "create-two": "Two processes on one file take turns at its lock, and each commit is one of theirs alone.",
  lives: "Two commits on disk, and three polls on average. The tasks of SDK v1 are in memory.",
  "lives-telemetry":
    "The SDK of OpenTelemetry sorts and hashes the attributes of each measurement: five for each life.",
  "retained-get": "The slowest hundredth waits for pages that are not in memory.",
  core: "The prototype has no limits, turns between callers, expiry, questions or other processes. Holdfast decides each command in JavaScript and writes the columns that it changes.",
  "gateway-durable": "Each call is a task of the gateway, on disk, and a task of the other server.",
  "postgres creates":
    "The task, its request, its place in the queue and the counts of its caller, in one transaction, against one row.",
  "postgres lives":
    "An enqueued job of graphile-worker is one row that is deleted. A task keeps its request, its attempts and its result, and its client is told of the end.",
  "postgres alone":
    "Four commits, each after the one before: the task, the step's beginning, the step's end, the outcome. DBOS has three, in the process that awaits it: after a crash it runs a step again, as tools with `onCrash: \"resume\"` do (`alone-resume`).",
  "postgres alone-resume":
    "Three commits, as with DBOS, each after the one before. Its client also reads the task after each change, on the same two cores.",
  "postgres wal": "Rows and index entries of the task, its request, its journal and its outcome.",
};

/** Why the cost along an axis is not flat. */
export const bends: Readonly<Record<string, string>> = {
  steps: "A short task bears the cost of its creation and its end in few steps.",
  results:
    "A small result bears the whole cost of its task. A large one is written as JSON, stored and read, each of which costs the same for each byte.",
  processes:
    "Processes take turns at the lock of the file, and each commits for itself alone, while the lives of one process share its commits. Each also reads what the others changed.",
  "processes-postgres":
    "Each node commits for itself alone, with fewer lives in a commit, and hears of the changes of all others. More processes than cores also push each other out of the caches.",
};

/** What a bench keeps. */
async function kept<Kept>(name: string): Promise<Kept> {
  return JSON.parse(
    await readFile(new URL(`../bench/results/${name}.json`, import.meta.url), "utf8"),
  ) as Kept;
}

const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
const table = (columns: readonly string[], rows: readonly (readonly string[])[]): string =>
  [columns, columns.map(() => "---"), ...rows].map(line).join("\n");
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

function system({ title, life, durability, failed, perSecond, ...cost }: MeasuredSystem): readonly string[] {
  if (failed !== undefined || perSecond === undefined)
    return [title, life, durability, "failed", "", "", "", ""];
  const [rate, low, high] = perSecond;
  const {
    aloneMs = Number.NaN,
    cpuUs = Number.NaN,
    memoryMiB = Number.NaN,
    writtenBytes = Number.NaN,
  } = cost;
  return [
    title,
    life,
    durability,
    `${whole.format(rate)} (${whole.format(low)} to ${whole.format(high)})`,
    aloneMs.toFixed(1),
    whole.format(cpuUs),
    whole.format(memoryMiB),
    whole.format(writtenBytes),
  ];
}

function besideOthers({ machine, settings, versions, rows }: Peers): string {
  const through = (kind: MeasuredSystem["through"]): string =>
    table(
      [
        "system",
        "a life",
        "durable",
        "lives a second (half of the rounds)",
        "alone, ms",
        "CPU, µs",
        "memory, MiB",
        "written, bytes",
      ],
      rows.filter((row) => row.through === kind).map(system),
    );
  const { rounds, roundMs, inFlight } = settings;
  const known = Object.entries(versions).map(([name, version]) => `\`${name}\` ${version}`);
  return `${machineText(machine)}. ${rounds} rounds of ${roundMs} ms in turns, ${inFlight} lives at a time; processor time, memory and bytes are those of all processes of a system, for each life. ${known.join(", ")}.

### Over MCP

${through("mcp")}

### As a library

${through("library")}`;
}

function againstSize({ name, title, of, per, machine, points }: Line): string {
  const rows = points.map(({ size, costUs, ratio }) => [
    whole.format(size),
    costUs.toFixed(1),
    ratio.toFixed(2),
  ]);
  const most = Math.max(...points.map(({ ratio }) => ratio));
  return `### ${title}

At most ${most.toFixed(2)} times the smallest. ${machineText(machine)}.${bends[name] === undefined ? "" : `\n\n${bends[name]}`}

![Processor time per ${per} against the number of ${of}](./charts/${name}.svg)

${table([of, `CPU per ${per}, µs`, "ratio"], rows)}`;
}

const some = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 2 });

/** What a large installation needs, calculated from what a life was measured to cost. */
function onPaper({ figures }: KeptBench): string {
  const [nodes, tasks, connections] = [50, 1e8, 10];
  const figure = (name: string): Measurement => {
    const found = figures.find((each) => each.name === name);
    if (found === undefined || "void" in found) throw new Error(`${name} was not measured on Postgres.`);
    return found;
  };
  const perSecond = tasks / 86_400;
  const cores = (name: string): string =>
    some.format((perSecond * (figure(name).databaseUs ?? Number.NaN)) / 1e6);
  const most = (name: string): string => some.format(1e6 / (figure(name).databaseUs ?? Number.NaN));
  const rows = [
    [
      "connections",
      `${nodes} × (${connections} + 2) = ${nodes * (connections + 2)}, twice that in a rolling upgrade`,
      "they do, at the 100 that Postgres allows by default: set `maxConnections: 4`, or use a pooler",
    ],
    [
      "processor of Postgres",
      `${cores("wal")} cores for tasks without steps that run where they were created, ${cores("apart")} if others run them`,
      `at some ${most("wal")} and ${most("apart")} lives a second for each core`,
    ],
    [
      "write-ahead log",
      `${some.format((perSecond * figure("wal").measured) / 1_000)} MB/s, and as much to each standby`,
      "the network of a distant standby",
    ],
    [
      "retention",
      `${some.format((tasks * figure("stored").measured) / 1e6)} GB with small results, and ${whole.format(perSecond)} deletions a second`,
      "vacuum, if transactions of hours keep it from what was deleted",
    ],
    [
      "locks",
      "nodes do not wait for each other (`SKIP LOCKED`)",
      "a tool with a `concurrency` of its own, whose tasks are claimed one after another",
    ],
    [
      "one hot tenant",
      "turns between callers keep the others going",
      "its quota's row, which each of its calls writes",
    ],
  ];
  return `Calculated from the figures above for ${nodes} nodes and 10⁸ tasks kept for a day, ${whole.format(perSecond)} lives a second. It has not been tried.

${table(["what", "how much", "what breaks first"], rows)}`;
}

export async function renderBenchmarks(): Promise<{
  readonly page: string;
  readonly charts: ReadonlyMap<string, string>;
}> {
  const [server, postgres, peers, lines] = await Promise.all([
    kept<KeptBench>("server"),
    kept<KeptBench>("postgres"),
    kept<Peers>("peers"),
    kept<readonly Line[]>("scale"),
  ]);
  const shortOf = ({ figures }: KeptBench, of = ""): readonly (readonly string[])[] =>
    figures
      .filter((figure) => "reached" in figure && figure.reached === false)
      .map(({ name, title }) => [`\`${of}${name}\``, title, limits[`${of}${name}`] ?? ""]);
  const reasons = [...shortOf(server), ...shortOf(postgres, "postgres ")];
  const page = `<!-- Made from bench/results by \`npm run docs:bench\`. Do not edit. -->

# Benchmarks

What the benches measured last. The machine is shared with other programs: compare the ratios of one run, not rates of different runs. [Measurements](measurements.md) says what each figure means, what cannot be compared, and how to repeat it.

## A server

${asMarkdown(server.machine, keptRows(server))}

## The store on Postgres

${asMarkdown(postgres.machine, keptRows(postgres))}

### Past these machines, on paper

${onPaper(postgres)}

## Beside other systems

Read first [what cannot be compared](measurements.md#beside-other-systems).

${besideOthers(peers)}

## Cost against size

${lines.map(againstSize).join("\n\n")}

## What does not reach its goal

${table(["figure", "of", "why"], reasons)}
`;
  const options = await resolveConfig(benchmarksUrl);
  return {
    page: await format(page, { ...options, parser: "markdown" }),
    charts: new Map(lines.map((each) => [`${each.name}.svg`, chart(each)])),
  };
}

if (import.meta.main) {
  const { page, charts } = await renderBenchmarks();
  await mkdir(chartsUrl, { recursive: true });
  for (const [name, svg] of charts) await writeFile(new URL(name, chartsUrl), svg);
  await writeFile(benchmarksUrl, page);
}
