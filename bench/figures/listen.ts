import { assertAnswer, taskIdIn } from "../client/answers.ts";
import { Connection } from "../client/connection.ts";
import { StatelessRequests } from "../client/requests.ts";
import { monotonicMs } from "../monotonic-ms.ts";
import { median, percentile } from "../statistics.ts";
import type { Effort } from "../load.ts";
import type { Figure } from "./figure.ts";
import { withServers } from "./with-servers.ts";

const listeners = 100;
const tasksPerListener = 4;
/** The ends are spread over two rounds, so that most of them do not wait for one another. */
const spreadIn = ({ roundMs }: Effort): number => 2 * roundMs;

interface Message {
  readonly method?: string;
  readonly params?: {
    readonly taskId: string;
    readonly status: string;
    readonly result?: { readonly content: readonly [{ readonly text: string }] };
  };
}

/** A client that listens to some tasks. */
class Listener {
  /** Resolves when all tasks were announced as working. */
  readonly ready: Promise<void>;
  /** Milliseconds from the return of each handler to the message that its task is completed. */
  readonly waits: Promise<readonly number[]>;
  readonly #working = new Set<string>();
  readonly #waits: number[] = [];
  #text = "";

  constructor(connection: Connection, listen: Buffer, count: number) {
    const ready = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<readonly number[]>();
    this.ready = ready.promise;
    this.waits = ended.promise;
    const fail = (error: unknown): void => {
      ready.reject(error);
      ended.reject(error);
    };
    const read = (chunk: Buffer): void => {
      this.#read(chunk, monotonicMs());
      if (this.#working.size === count) ready.resolve();
      if (this.#waits.length === count) ended.resolve(this.#waits);
    };
    connection.stream(listen, read).then(({ head }) => fail(new Error(`The stream ended: ${head}`)), fail);
    ended.promise.catch(() => undefined); // until a client waits for it
  }

  #read(chunk: Buffer, now: number): void {
    const events = (this.#text + chunk.toString()).split("\n\n");
    this.#text = events.pop() ?? "";
    for (const event of events) {
      const data = event.split("\n").find((line) => line.startsWith("data: "));
      const { method, params } = JSON.parse(data?.slice("data: ".length) ?? "{}") as Message;
      if (method !== "notifications/tasks" || params === undefined) continue;
      if (params.status === "working") this.#working.add(params.taskId);
      else if (params.status !== "completed") throw new Error(`A task ended unexpectedly: ${event}`);
      else this.#waits.push(now - Number(params.result?.content[0].text));
    }
  }
}

/** Starts all tasks, listens to them, and only then lets them continue. */
function round(url: string, gate: string, spreadMs: number): Promise<readonly number[]> {
  const requests = new StatelessRequests(url);
  return Connection.with(url, listeners, async (all) => {
    const started = await Promise.all(
      all.map(async (connection) => {
        const ids: string[] = [];
        for (let n = 0; n < tasksPerListener; n++) {
          const call = requests.call("stamp", { gate, ms: Math.random() * spreadMs });
          ids.push(taskIdIn(await connection.send(call)));
        }
        return new Listener(connection, requests.listen(ids), ids.length);
      }),
    );
    await Promise.all(started.map(({ ready }) => ready));
    await Connection.withOne(url, async (connection) =>
      assertAnswer(await connection.send(requests.call("open", { gate })), '"text":"open"'),
    );
    return (await Promise.all(started.map(({ waits }) => waits))).flat();
  });
}

export const listen: Figure = {
  name: "listen",
  title: `from a handler's return to its client, with ${listeners} listening; p99`,
  against: "",
  unit: "ms",
  goal: { atMost: 10 },
  measure: ({ folder, effort }) =>
    withServers(folder, async (start) => {
      const { url } = await start("./servers/holdfast.ts", { HOLDFAST_STORE: "sqlite:tasks.db" });
      const spreadMs = spreadIn(effort);
      await round(url, "warm-up", spreadMs);
      const p99s: number[] = [];
      for (let n = 0; n < effort.rounds; n++) {
        p99s.push(percentile(await round(url, `round ${n}`, spreadMs), 0.99));
      }
      return { measured: median(p99s), ratios: p99s };
    }),
};
