import { performance } from "node:perf_hooks";
import { assertAnswer, finishedTask, pollUntil, startedTask } from "../client/answers.ts";
import { Connection } from "../client/connection.ts";
import { StatelessRequests } from "../client/requests.ts";
import { copiedTasks, someTaskIds } from "../copied-tasks.ts";
import { withCopy } from "../database-copy.ts";
import type { ServerProcess } from "../server-process.ts";
import { median, percentile } from "../statistics.ts";
import type { Figure, Run } from "./figure.ts";
import { withServers } from "./with-servers.ts";

const holdfast = "./servers/holdfast.ts";
const on = (database: string): Record<string, string> => ({
  HOLDFAST_STORE: `sqlite:${database}`,
  MANY_TASKS: "yes",
});
const most = 100_000;
const many = `${most.toLocaleString("en-US")} tasks that wait for an answer`;
const answersPerRound = 300;
/** A process takes seconds to become idle, and rounds differ little. */
const mostStarts = 5;

/** The path of a database with tasks that each wait for the answer to a question. */
const parkedTasks = ({ folder, effort }: Run): Promise<string> =>
  copiedTasks(folder, "parked", most * effort.share, (connection, url) => {
    const requests = new StatelessRequests(url);
    return startedTask(connection, requests, requests.call("ask", {}), '"status":"input_required"');
  });

interface Started {
  readonly server: ServerProcess;
  readonly begin: number;
  /** From its start to the end of the first new task. */
  readonly firstMs: number;
}

/** Gives `work` a server on the database that has run a new task, and then kills it. */
function withStarted<T>(
  folder: string,
  database: string,
  work: (started: Started) => Promise<T>,
): Promise<T> {
  return withServers(folder, async (start) => {
    const begin = performance.now();
    const server = await start(holdfast, on(database));
    await Connection.withOne(server.url, (connection) =>
      finishedTask(connection, new StatelessRequests(server.url)),
    );
    const found = await work({ server, begin, firstMs: performance.now() - begin });
    await server.stop("SIGKILL");
    return found;
  });
}

/** The results of `work` for each round, with its own server on its own database. */
async function onParked<T>(run: Run, work: (started: Started) => Promise<T>): Promise<T[]> {
  const database = await parkedTasks(run);
  const found: T[] = [];
  for (let n = 0; n < Math.min(run.effort.rounds, mostStarts); n++) {
    found.push(await withCopy(database, (copy) => withStarted(run.folder, copy, work)));
  }
  return found;
}

export const parkedStart: Figure = {
  name: "parked-start",
  title: `from the start of a process until it is idle again, with ${many} in its store`,
  against: "",
  unit: "ms",
  goal: { atMost: 1_000 },
  measure: async (run) => {
    const found = await onParked(run, async ({ server, begin, firstMs }) => ({
      startMs: Math.max(firstMs, (await server.quiet()) - begin),
      firstMs,
    }));
    const starts = found.map(({ startMs }) => startMs);
    const firstMs = median(found.map((one) => one.firstMs));
    const remark = `a first new task had ended ${firstMs.toFixed(0)} ms after the start`;
    return { measured: median(starts), ratios: starts, remark };
  },
};

export const parkedMemory: Figure = {
  name: "parked-memory",
  title: `extra memory of a process with ${many} in its store, compared with an empty store`,
  against: "",
  unit: "MiB",
  goal: { atMost: 150 },
  measure: async (run) => {
    const atRest = async ({ server }: Started): Promise<number> => {
      await server.quiet();
      return server.memoryMiB();
    };
    const empty = await withStarted(run.folder, "tasks.db", atRest);
    const beyond = (await onParked(run, atRest)).map((MiB) => MiB - empty);
    return { measured: median(beyond), ratios: beyond };
  },
};

/** How long each task takes from its answer to its end, in ms, one after another. */
async function answered({ url }: ServerProcess, ids: readonly string[]): Promise<number[]> {
  const requests = new StatelessRequests(url);
  const found: number[] = [];
  await Connection.withOne(url, async (connection) => {
    for (const id of ids) {
      const answer = requests.answer(id, "name", { action: "accept", content: { name: "May" } });
      const begin = performance.now();
      assertAnswer(await connection.send(answer), '"result"');
      await pollUntil(connection, requests.get(id), '"text":"accept"', 0);
      found.push(performance.now() - begin);
    }
  });
  return found;
}

export const parkedAnswer: Figure = {
  name: "parked-answer",
  title: `p99 from an answer to the end of its task, in a new process with ${many} in its store`,
  against: "",
  unit: "ms",
  goal: { atMost: 50 },
  measure: async (run) => {
    const ids = someTaskIds(await parkedTasks(run), Math.ceil(answersPerRound * run.effort.share));
    const found = await onParked(run, ({ server }) => answered(server, ids));
    const p99s = found.map((round) => percentile(round, 0.99));
    const [p50, slowest] = [percentile(found.flat(), 0.5), Math.max(...found.flat())];
    const remark = `half of the answers took at most ${p50.toFixed(1)} ms, the slowest one ${slowest.toFixed(1)} ms`;
    return { measured: median(p99s), ratios: p99s, remark };
  },
};
