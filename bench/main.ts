// Measures the server beside references in the same run: npm run bench [-- NAME...] [--json | --markdown] [--quick] [--folder PATH]
// [--against CHECKOUT].
// What the figures mean is in docs/guides/performance.md.
import { rmSync } from "node:fs";
import { mkdir, mkdtemp } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { against } from "./figures/against.ts";
import { create, createSdk, createTwo } from "./figures/create.ts";
import type { Figure } from "./figures/figure.ts";
import { floodOfOne, floodOfRecovered } from "./figures/flood.ts";
import { journalBlock, journalMemory } from "./figures/journal.ts";
import { listen } from "./figures/listen.ts";
import { lives } from "./figures/lives.ts";
import { parkedAnswer, parkedMemory, parkedStart } from "./figures/parked.ts";
import { retainedCreate, retainedGet, retainedStart } from "./figures/retained.ts";
import { tail } from "./figures/tail.ts";
import { tasksGet, tasksGetHono, tasksGetSession } from "./figures/tasks-get.ts";
import { fullEffort, quickEffort } from "./load.ts";
import { describeMachine } from "./machine.ts";
import { asJson, asMarkdown, asText, type Row } from "./report.ts";

const ownFigures: readonly Figure[] = [
  tasksGet,
  tasksGetHono,
  create,
  createSdk,
  createTwo,
  lives,
  tasksGetSession,
  listen,
  tail,
  retainedStart,
  retainedGet,
  retainedCreate,
  parkedStart,
  parkedMemory,
  parkedAnswer,
  floodOfOne,
  floodOfRecovered,
  journalBlock,
  journalMemory,
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "boolean", default: false },
    markdown: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    // Not the system's folder for temporary files, which is often in memory.
    folder: { type: "string", default: ".holdfast" },
    // Another checkout of this repository, to be measured beside this one.
    against: { type: "string" },
  },
});

const figures = values.against === undefined ? ownFigures : against(resolve(values.against));
const unknown = positionals.filter((name) => figures.every((figure) => figure.name !== name));
if (unknown.length > 0) {
  console.error(
    `Unknown: ${unknown.join(", ")}. The figures are ${figures.map(({ name }) => name).join(", ")}.`,
  );
  process.exit(2);
}
const chosen = positionals.length === 0 ? figures : figures.filter(({ name }) => positionals.includes(name));

await mkdir(values.folder, { recursive: true });
const folder = await mkdtemp(join(resolve(values.folder), "bench-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

const machine = await describeMachine(folder);
const effort = values.quick ? quickEffort : fullEffort;
const rows: Row[] = [];
for (const figure of chosen) {
  console.error(`${figure.name}: ${figure.title}`);
  const outcome = await figure
    .measure({ folder, effort })
    .catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
  rows.push({ figure, outcome });
}
const print = values.json ? asJson : values.markdown ? asMarkdown : asText;
console.log(print(machine, rows));
if (rows.some(({ outcome }) => outcome instanceof Error)) process.exitCode = 1;
