import { assertAnswer, finishedTask } from "../client/answers.ts";
import { Connection } from "../client/connection.ts";
import { StatelessRequests } from "../client/requests.ts";
import { latencies, type LatencyRound } from "../latency.ts";
import type { Side } from "../load.ts";
import { median, percentile } from "../statistics.ts";
import type { Figure } from "./figure.ts";
import { withServers } from "./with-servers.ts";

const connections = 500;
const unitsPerRound = 20_000;
/** The maximum length of a round with a slow server, as a multiple of a normal round. */
const longRound = 4;

export const tail: Figure = {
  name: "tail",
  title: `p99 of tasks/get with ${connections} connections`,
  against: "its p50",
  unit: "ms",
  goal: { atMost: 8 },
  measure: ({ folder, effort }) =>
    withServers(folder, async (start) => {
      const server = await start("../test/everything/main.ts");
      const { get, reply } = await Connection.withOne(server.url, (connection) =>
        finishedTask(connection, new StatelessRequests(server.url)),
      );
      const reads: Side = {
        servers: [server],
        client: async (connection) => async () => assertAnswer(await connection.send(get), reply.body),
      };
      const round: LatencyRound = { connections, units: unitsPerRound, ms: longRound * effort.roundMs };
      await latencies(reads, { ...round, ms: effort.warmUpMs });
      const found: { p50: number; p99: number }[] = [];
      for (let n = 0; n < effort.rounds; n++) {
        const all = await latencies(reads, round);
        found.push({ p50: percentile(all, 0.5), p99: percentile(all, 0.99) });
      }
      return {
        measured: median(found.map(({ p99 }) => p99)),
        reference: median(found.map(({ p50 }) => p50)),
        ratios: found.map(({ p50, p99 }) => p99 / p50),
      };
    }),
};
