import { performance } from "node:perf_hooks";
import { assertAnswer, finishedTask } from "../client/answers.ts";
import { Connection } from "../client/connection.ts";
import { StatelessRequests } from "../client/requests.ts";
import { median, percentile } from "../statistics.ts";
import type { Figure } from "./figure.ts";
import { withServers } from "./with-servers.ts";

const connections = 500;
/** A round ends with so many requests, or with a slow server after this multiple of a usual round. */
const requestsPerRound = 20_000;
const longRound = 4;

/** How long each request waits for its answer, where every connection sends one after another. */
function waits(url: string, get: Buffer, body: Buffer, ms: number): Promise<number[]> {
  return Connection.with(url, connections, async (all) => {
    // A busy Node accepts about one connection per turn of its event loop, and that is not what is measured.
    for (let n = 0; n < all.length; n += 50) {
      const replies = await Promise.all(all.slice(n, n + 50).map((connection) => connection.send(get)));
      for (const reply of replies) assertAnswer(reply, body);
    }
    const found: number[] = [];
    const end = performance.now() + ms;
    let left = requestsPerRound;
    await Promise.all(
      all.map(async (connection) => {
        for (let begin = performance.now(); begin < end && left-- > 0; begin = performance.now()) {
          assertAnswer(await connection.send(get), body);
          found.push(performance.now() - begin);
        }
      }),
    );
    return found;
  });
}

export const tail: Figure = {
  name: "tail",
  title: `p99 of tasks/get with ${connections} connections`,
  against: "its p50",
  unit: "ms",
  goal: { atMost: 8 },
  measure: ({ folder, effort }) =>
    withServers(folder, async (start) => {
      const { url } = await start("../examples/everything/main.ts");
      const { get, reply } = await Connection.with(url, 1, async ([connection]) => {
        if (connection === undefined) throw new Error("There is no connection.");
        return finishedTask(connection, new StatelessRequests(url));
      });
      const roundMs = longRound * effort.roundMs;
      await waits(url, get, reply.body, effort.warmUpMs);
      const found: { p50: number; p99: number }[] = [];
      for (let n = 0; n < effort.rounds; n++) {
        const all = await waits(url, get, reply.body, roundMs);
        found.push({ p50: percentile(all, 0.5), p99: percentile(all, 0.99) });
      }
      return {
        measured: median(found.map(({ p99 }) => p99)),
        reference: median(found.map(({ p50 }) => p50)),
        ratios: found.map(({ p50, p99 }) => p99 / p50),
      };
    }),
};
