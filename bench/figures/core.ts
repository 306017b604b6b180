import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as z from "zod";
import { inTurn } from "../in-turn.ts";
import { median } from "../statistics.ts";
import type { Figure, Run } from "./figure.ts";

const livesPrinted = z.object({
  perSecond: z.number(),
  cpuMs: z.number(),
  bytes: z.number(),
  writes: z.number().optional(),
});

type Lives = z.infer<typeof livesPrinted>;

/** Each process warms up for as long as it measures: its code is compiled while it runs. */
const roundsOf = 3;

let databases = 0;

async function livesOf(script: string, { folder, effort }: Run): Promise<Lives> {
  const file = fileURLToPath(new URL(`../core/${script}.ts`, import.meta.url));
  const ms = String(effort.roundMs * roundsOf);
  const path = join(folder, `core-${databases++}.db`);
  const { stdout } = await promisify(execFile)(process.execPath, [file, path, ms, ms]);
  return livesPrinted.parse(JSON.parse(stdout));
}

export const core: Figure = {
  name: "core",
  title:
    "tasks of three steps in one process, without a protocol, 64 at a time; SQLite with synchronous FULL",
  against: "written by hand for one process",
  unit: "/s",
  goal: { atLeast: 0.33 },
  measure: async (run) => {
    const rounds = Math.ceil(run.effort.rounds / roundsOf);
    const pairs = await inTurn(
      () => livesOf("holdfast", run),
      () => livesOf("by-hand", run),
      rounds,
    );
    const bytes = median(pairs.map(({ subject }) => subject.bytes));
    const writes = median(pairs.map(({ subject }) => subject.writes ?? Number.NaN));
    return {
      measured: median(pairs.map(({ subject }) => subject.perSecond)),
      reference: median(pairs.map(({ reference }) => reference.perSecond)),
      ratios: pairs.map(({ subject, reference }) => subject.perSecond / reference.perSecond),
      cpuRatios: pairs.map(({ subject, reference }) => reference.cpuMs / subject.cpuMs),
      remark: `${Math.round(bytes)} bytes on disk and ${writes.toFixed(1)} writes per task`,
    };
  },
};
