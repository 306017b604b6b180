import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { finishedTask } from "../client/answers.ts";
import { Connection } from "../client/connection.ts";
import { StatelessRequests } from "../client/requests.ts";
import { compare, type Side } from "../load.ts";
import type { ServerProcess } from "../server-process.ts";
import { calls, created } from "./create.ts";
import type { Figure } from "./figure.ts";
import { livesOf20260728 } from "./lives.ts";
import { reads } from "./tasks-get.ts";
import { withServers } from "./with-servers.ts";

const holdfast = "./servers/holdfast.ts";
const everything = "../test/everything/main.ts";

/** Figures of this checkout compared with those of another, compiled one. */
export function against(checkout: string): readonly Figure[] {
  const bench = pathToFileURL(join(checkout, "bench", "/"));
  const figure = (
    name: string,
    title: string,
    script: string,
    sideOf: (server: ServerProcess) => Promise<Side>,
  ): Figure => ({
    name,
    title,
    against: checkout,
    unit: "/s",
    goal: { atLeast: 0.95 },
    measure: ({ folder, effort }) =>
      withServers(folder, async (start) => {
        const env = { HOLDFAST_STORE: "sqlite:tasks.db" };
        const ours = await start(script, env);
        const theirs = await start(new URL(script, bench).href, env);
        return compare(await sideOf(ours), await sideOf(theirs), effort);
      }),
  });
  return [
    figure("tasks-get", "tasks/get of a finished task", everything, readsOf),
    figure("create", "tools/call that creates a task", holdfast, async (server) => calls([server], created)),
    figure("lives", "whole lives of tasks", holdfast, async (server) => livesOf20260728(server)),
  ];
}

function readsOf(server: ServerProcess): Promise<Side> {
  return Connection.withOne(server.url, async (connection) => {
    const { get } = await finishedTask(connection, new StatelessRequests(server.url));
    return reads(server, get, '"text":"42"');
  });
}
