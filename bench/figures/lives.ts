import { assertAnswer, openSession, pollToCompletion, taskIdIn } from "../client/answers.ts";
import { StatelessRequests } from "../client/requests.ts";
import { compare, type Side } from "../load.ts";
import type { ServerProcess } from "../server-process.ts";
import type { Figure } from "./figure.ts";
import { withServers } from "./with-servers.ts";

const sum = Buffer.from('"text":"42"');

/** Starts a task of a tool that adds, and polls it. The last answer has the result. */
export function livesOf20260728(server: ServerProcess, tool = "add"): Side {
  const requests = new StatelessRequests(server.url);
  const call = requests.call(tool, { a: 19, b: 23 });
  return {
    servers: [server],
    client: async (connection) => async () => {
      const created = await connection.send(call);
      assertAnswer(await pollToCompletion(connection, requests.get(taskIdIn(created))), sum);
    },
  };
}

/** Starts a task, polls it, and fetches its result. */
export function livesOf20251125(server: ServerProcess): Side {
  return {
    servers: [server],
    client: async (connection) => {
      const requests = await openSession(connection, server.url);
      const call = requests.call("add", { a: 19, b: 23 });
      return async () => {
        const taskId = taskIdIn(await connection.send(call));
        await pollToCompletion(connection, requests.get(taskId));
        assertAnswer(await connection.send(requests.result(taskId)), sum);
      };
    },
  };
}

export const lives: Figure = {
  name: "lives",
  title: "whole lives of tasks: call, run, poll, result; SQLite with synchronous FULL",
  against: "SDK v1, in memory",
  unit: "/s",
  goal: { atLeast: 5 },
  measure: ({ folder, effort }) =>
    withServers(folder, async (start) => {
      const ours = await start("./servers/holdfast.ts", { HOLDFAST_STORE: "sqlite:tasks.db" });
      const sdk = await start("./servers/sdk-v1.ts");
      return compare(livesOf20260728(ours), livesOf20251125(sdk), effort);
    }),
};

export const livesLog: Figure = {
  name: "lives-log",
  title: "whole lives of tasks with ten lines in the log of each; SQLite with synchronous FULL",
  against: "without a log",
  unit: "/s",
  measure: ({ folder, effort }) =>
    withServers(folder, async (start) => {
      const logging = await start("./servers/holdfast.ts", { HOLDFAST_STORE: "sqlite:tasks.db" });
      const silent = await start("./servers/holdfast.ts", { HOLDFAST_STORE: "sqlite:tasks.db" });
      return compare(livesOf20260728(logging, "add_and_log"), livesOf20260728(silent), effort);
    }),
};

/** The same server with telemetry: the part `ratio` of all traces, and all metrics, are exported over OTLP. */
function livesWithTelemetry(ratio: number): Figure["measure"] {
  return ({ folder, effort }) =>
    withServers(folder, async (start) => {
      const collector = await start("./servers/collector.ts");
      const store = { HOLDFAST_STORE: "sqlite:tasks.db" };
      const traced = await start("./servers/holdfast.ts", {
        ...store,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        TRACE_RATIO: String(ratio),
      });
      const plain = await start("./servers/holdfast.ts", store);
      return compare(livesOf20260728(traced), livesOf20260728(plain), effort);
    });
}

export const livesTelemetry: Figure = {
  name: "lives-telemetry",
  title:
    "whole lives of tasks with metrics and one trace in ten exported over OTLP; SQLite with synchronous FULL",
  against: "without telemetry",
  unit: "/s",
  goal: { atLeast: 0.92, of: "cpu" },
  measure: livesWithTelemetry(0.1),
};

export const livesTraced: Figure = {
  name: "lives-traced",
  title: "whole lives of tasks with metrics and every trace exported over OTLP; SQLite with synchronous FULL",
  against: "without telemetry",
  unit: "/s",
  measure: livesWithTelemetry(1),
};
