import { pollToCompletion, taskIdIn } from "../client/answers.ts";
import { Connection } from "../client/connection.ts";
import { StatelessRequests } from "../client/requests.ts";
import { latencies, type LatencyRound } from "../latency.ts";
import type { Side } from "../load.ts";
import { median, percentile } from "../statistics.ts";
import type { Figure } from "./figure.ts";
import { withServers } from "./with-servers.ts";

const steps = 4;
const connections = 2;
const unitsPerRound = 5_000;

/** How a server that computes answers others: the steps take longer than the rounds, which end with them. */
export const threads: Figure = {
  name: "threads",
  title: `p99 of /healthz beside ${steps} steps that compute on threads`,
  against: "the same without them",
  unit: "ms",
  goal: { atMost: 100, of: "measured" },
  measure: ({ folder, effort }) =>
    withServers(folder, async (start) => {
      const server = await start("./servers/threads.ts");
      const requests = new StatelessRequests(server.url);
      const { host } = new URL(server.url);
      const health = Buffer.from(`GET /healthz HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
      const checks: Side = {
        servers: [server],
        client: async (connection) => async () => {
          const { status } = await connection.send(health);
          if (status !== 200) throw new Error(`/healthz answered ${status}.`);
        },
      };
      const round: LatencyRound = { connections, units: unitsPerRound, ms: effort.roundMs };
      const tail = async (): Promise<number> => percentile(await latencies(checks, round), 0.99);
      const beside = (): Promise<number> =>
        Connection.with(server.url, steps, async (all) => {
          const call = requests.call("compute", { ms: 2 * effort.roundMs });
          const work = all.map(async (each) => {
            const id = taskIdIn(await each.send(call));
            return () => pollToCompletion(each, requests.get(id));
          });
          const ends = await Promise.all(work);
          const found = await tail();
          await Promise.all(ends.map((end) => end()));
          return found;
        });
      await latencies(checks, { ...round, ms: effort.warmUpMs });
      const found: { without: number; beside: number }[] = [];
      for (let n = 0; n < Math.min(effort.rounds, 5); n++)
        found.push({ without: await tail(), beside: await beside() });
      return {
        measured: median(found.map((each) => each.beside)),
        reference: median(found.map(({ without }) => without)),
        ratios: found.map((each) => each.beside / each.without),
      };
    }),
};
