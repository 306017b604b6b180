// Measures the server beside references in the same run: npm run bench [-- NAME...] [--json | --markdown] [--quick] [--folder PATH] [--out FOLDER]
// [--against CHECKOUT].
// What the figures mean is in docs/internals/measurements.md.
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { against } from "./figures/against.ts";
import { clientFigures } from "./figures/client.ts";
import { core } from "./figures/core.ts";
import { create, createSdk, createTwo } from "./figures/create.ts";
import type { Figure } from "./figures/figure.ts";
import { floodOfOne, floodOfRecovered } from "./figures/flood.ts";
import { gatewayDurable, gatewayPassed } from "./figures/gateway.ts";
import { journalBlock, journalMemory } from "./figures/journal.ts";
import { listen } from "./figures/listen.ts";
import { lives, livesLog, livesTelemetry, livesTraced } from "./figures/lives.ts";
import { parkedAnswer, parkedMemory, parkedStart } from "./figures/parked.ts";
import { retainedCreate, retainedGet, retainedStart } from "./figures/retained.ts";
import { garbageOfGet, garbageOfSession } from "./figures/profile.ts";
import { tail } from "./figures/tail.ts";
import { threads } from "./figures/threads.ts";
import { tasksGet, tasksGetHono, tasksGetRunning, tasksGetSession } from "./figures/tasks-get.ts";
import { benchOptions, runBench } from "./run-bench.ts";

const ownFigures: readonly Figure[] = [
  tasksGet,
  tasksGetRunning,
  tasksGetHono,
  create,
  createSdk,
  createTwo,
  lives,
  livesLog,
  livesTelemetry,
  livesTraced,
  tasksGetSession,
  garbageOfGet,
  garbageOfSession,
  listen,
  tail,
  threads,
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
  core,
  gatewayPassed,
  gatewayDurable,
  ...clientFigures,
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    ...benchOptions,
    // Not the system's temporary folder, which is often in memory.
    folder: { type: "string", default: ".holdfast" },
    // Another checkout of this repository, to compare with.
    against: { type: "string" },
  },
});

const figures = values.against === undefined ? ownFigures : against(resolve(values.against));
await runBench({ ...values, name: "server", figures, names: positionals });
