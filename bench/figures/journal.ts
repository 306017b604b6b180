import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { pollUntil, startedTask, textIn } from "../client/answers.ts";
import { Connection } from "../client/connection.ts";
import { StatelessRequests } from "../client/requests.ts";
import { madeBy, someTaskIds } from "../copied-tasks.ts";
import { withCopy } from "../database-copy.ts";
import { median } from "../statistics.ts";
import type { Figure, Run } from "./figure.ts";
import { withServers } from "./with-servers.ts";

const script = "./servers/journal.ts";
const mostSteps = 10_000;
const bytes = 20_000;
/** A replay takes seconds, and rounds differ little. */
const mostRounds = 5;
const what = `a journal of ${mostSteps.toLocaleString("en-US")} steps of ${bytes / 1_000} KB each`;

/** The cost of replaying the journal of a task, which then waits. */
interface Replay {
  /** The longest time that the event loop was blocked, from the process's start. */
  readonly blockMs: number;
  readonly replayMs: number;
  /** After a garbage collection. */
  readonly heapMiB: number;
  readonly rssMiB: number;
}

/** The path of a database in `folder` with one task, which a new process runs again. */
async function written(folder: string, steps: number): Promise<string> {
  const path = join(folder, `journal-${steps}.db`);
  if (existsSync(path)) return path;
  const made = await madeBy(script, folder, (connection, url) => {
    const requests = new StatelessRequests(url);
    return startedTask(connection, requests, requests.call("read", { steps, bytes }), '"written"');
  });
  await rename(made, path);
  return path;
}

const costs = z.tuple([z.number(), z.number(), z.number(), z.number()]);
const mebibyte = 2 ** 20;

/** Replays a journal of this many steps in a new process. */
async function replay(folder: string, steps: number): Promise<Replay> {
  const database = await written(folder, steps);
  const [id = ""] = someTaskIds(database, 1);
  return withCopy(database, (copy) =>
    withServers(folder, async (start) => {
      const { url } = await start(script, { HOLDFAST_STORE: `sqlite:${copy}` });
      const requests = new StatelessRequests(url);
      return Connection.withOne(url, async (connection) => {
        await pollUntil(connection, requests.get(id), '"status":"input_required"');
        const reply = costs.parse(JSON.parse(textIn(await connection.send(requests.call("cost", {})))));
        const [blockMs, replayMs, heap, rss] = reply;
        return { blockMs, replayMs, heapMiB: heap / mebibyte, rssMiB: rss / mebibyte };
      });
    }),
  );
}

async function replays({ folder, effort }: Run): Promise<readonly Replay[]> {
  const found: Replay[] = [];
  for (let n = 0; n < Math.min(effort.rounds, mostRounds); n++)
    found.push(await replay(folder, mostSteps * effort.share));
  return found;
}

export const journalBlock: Figure = {
  name: "journal-block",
  title: `longest block of the event loop while a new process replays ${what}`,
  against: "",
  unit: "ms",
  goal: { atMost: 50 },
  measure: async (run) => {
    const found = await replays(run);
    const blocks = found.map(({ blockMs }) => blockMs);
    const replayMs = median(found.map((one) => one.replayMs));
    return {
      measured: median(blocks),
      ratios: blocks,
      remark: `the handler reached the end of the journal ${replayMs.toFixed(0)} ms after the start`,
    };
  },
};

export const journalMemory: Figure = {
  name: "journal-memory",
  title: `extra heap of a process with one task that waits after ${what}, compared with a single step`,
  against: "",
  unit: "MiB",
  goal: { atMost: 10 },
  measure: async (run) => {
    const least = await replay(run.folder, 1);
    const found = await replays(run);
    const beyond = found.map(({ heapMiB }) => heapMiB - least.heapMiB);
    const rssMiB = median(found.map((one) => one.rssMiB - least.rssMiB));
    return {
      measured: median(beyond),
      ratios: beyond,
      remark: `the process uses ${rssMiB.toFixed(1)} MiB more RAM`,
    };
  },
};
