import { join } from "node:path";
import { assertAnswer } from "../client/answers.ts";
import { StatelessRequests } from "../client/requests.ts";
import { compare, type Side } from "../load.ts";
import type { ServerProcess } from "../server-process.ts";
import type { Figure } from "./figure.ts";
import { withServers } from "./with-servers.ts";

const holdfast = "./servers/holdfast.ts";

/** Calls `add`; every answer contains `part`. */
export function calls(servers: readonly ServerProcess[], part: Buffer): Side {
  return {
    servers,
    client: async (connection, url) => {
      const call = new StatelessRequests(url).call("add", { a: 19, b: 23 });
      return async () => assertAnswer(await connection.send(call), part);
    },
  };
}

export const created = Buffer.from('"taskId":"');
const sum = Buffer.from('"text":"42"');

export const create: Figure = {
  name: "create",
  title: "tools/call that creates a task, SQLite with synchronous FULL",
  against: "memory store",
  unit: "/s",
  goal: { atLeast: 0.8 },
  measure: ({ folder, effort }) =>
    withServers(folder, async (start) => {
      const sqlite = await start(holdfast, { HOLDFAST_STORE: "sqlite:tasks.db" });
      const memory = await start(holdfast, { HOLDFAST_STORE: "memory:" });
      return compare(calls([sqlite], created), calls([memory], created), effort);
    }),
};

export const createSdk: Figure = {
  name: "create-sdk",
  title: "tools/call that creates a task, SQLite with synchronous FULL",
  against: "SDK v2, plain tools/call",
  unit: "/s",
  goal: { atLeast: 2.5 },
  measure: ({ folder, effort }) =>
    withServers(folder, async (start) => {
      const sqlite = await start(holdfast, { HOLDFAST_STORE: "sqlite:tasks.db" });
      const sdk = await start("./servers/sdk-v2.ts");
      return compare(calls([sqlite], created), calls([sdk], sum), effort);
    }),
};

export const createTwo: Figure = {
  name: "create-two",
  title: "tools/call that creates a task, through two processes on one SQLite file",
  against: "one process",
  unit: "/s",
  goal: { atLeast: 0.8 },
  measure: ({ folder, effort }) =>
    withServers(folder, async (start) => {
      const sharing = { HOLDFAST_STORE: `sqlite:${join(folder, "two.db")}` };
      const two = [await start(holdfast, sharing), await start(holdfast, sharing)];
      const one = await start(holdfast, { HOLDFAST_STORE: "sqlite:tasks.db" });
      return compare(calls(two, created), calls([one], created), effort);
    }),
};
