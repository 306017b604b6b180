import { join } from "node:path";
import { pollToCompletion, taskIdIn, textIn } from "../client/answers.ts";
import { Connection } from "../client/connection.ts";
import { StatelessRequests } from "../client/requests.ts";
import { monotonicMs } from "../monotonic-ms.ts";
import type { ServerProcess } from "../server-process.ts";
import { median } from "../statistics.ts";
import type { Figure, Measurement, Run } from "./figure.ts";
import { withServers, type StartServer } from "./with-servers.ts";

const holdfast = "./servers/holdfast.ts";
const most = 10_000;
const many = most.toLocaleString("en-US");
const connections = 50;
/** How long one handler runs. */
const runMs = 200;
/** The default number of handlers. */
const usual = { MANY_TASKS: "yes", CONCURRENCY: "64" };
const callsPerRound = 5;
/** A round whose calls wait for all others takes half a minute. */
const mostRounds = 5;

/** Creates this many tasks. */
async function flood({ url }: ServerProcess, call: Buffer, count: number): Promise<void> {
  await Connection.with(url, connections, (all) =>
    Promise.all(
      all.map(async (connection, n) => {
        for (let next = n; next < count; next += connections) taskIdIn(await connection.send(call));
      }),
    ),
  );
}

/** The longest time (ms) that new tasks, created one after another, wait for their handlers to start. */
function longestWait({ url }: ServerProcess, requests: StatelessRequests): Promise<number> {
  const call = requests.call("run", { ms: runMs });
  return Connection.withOne(url, async (connection) => {
    let longest = 0;
    for (let n = 0; n < callsPerRound; n++) {
      const asked = monotonicMs();
      const id = taskIdIn(await connection.send(call));
      const reply = await pollToCompletion(connection, requests.get(id));
      longest = Math.max(longest, Number(textIn(reply)) - asked);
    }
    return longest;
  });
}

/** The waits of all rounds, each with its own servers. */
async function measure(
  { folder, effort }: Run,
  round: (start: StartServer, count: number, n: number) => Promise<number>,
): Promise<Measurement> {
  const waits: number[] = [];
  for (let n = 0; n < Math.min(effort.rounds, mostRounds); n++) {
    waits.push(await withServers(folder, (start) => round(start, most * effort.share, n)));
  }
  return { measured: median(waits), reference: runMs, ratios: waits.map((wait) => wait / runMs) };
}

export const floodOfOne: Figure = {
  name: "flood",
  title: `until a caller's task runs after another caller queued ${many}; the longest of ${callsPerRound}`,
  against: "one handler run",
  unit: "ms",
  goal: { atMost: 1.1 },
  measure: (run) =>
    measure(run, async (start, count) => {
      const server = await start(holdfast, { ...usual, PRINCIPALS: "yes" });
      const flooding = new StatelessRequests(server.url, "flooding");
      await flood(server, flooding.call("run", { ms: runMs }), count);
      const wait = await longestWait(server, new StatelessRequests(server.url, "other"));
      await server.stop("SIGKILL");
      return wait;
    }),
};

export const floodOfRecovered: Figure = {
  name: "flood-recovered",
  title: `until a new task runs after a process that ran ${many} was killed; the longest of ${callsPerRound}`,
  against: "one handler run",
  unit: "ms",
  goal: { atMost: 1.1 },
  measure: (run) =>
    measure(run, async (start, count, n) => {
      const store = { HOLDFAST_STORE: `sqlite:${join(run.folder, `recovered-${n}.db`)}` };
      const first = await start(holdfast, { ...usual, ...store, CONCURRENCY: String(count) });
      const requests = new StatelessRequests(first.url);
      await flood(first, requests.call("run", { ms: runMs, hangs: true }), count);
      await first.stop("SIGKILL");
      const next = await start(holdfast, { ...usual, ...store });
      const wait = await longestWait(next, new StatelessRequests(next.url));
      await next.stop("SIGKILL");
      return wait;
    }),
};
