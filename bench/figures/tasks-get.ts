import { assertAnswer, finishedTask, openSession } from "../client/answers.ts";
import { Connection } from "../client/connection.ts";
import { StatelessRequests, type Requests } from "../client/requests.ts";
import { compare, type Side } from "../load.ts";
import { bareAnswer } from "./bare-answer.ts";
import type { ServerProcess } from "../server-process.ts";
import type { Figure, Measurement, Run } from "./figure.ts";
import { withServers } from "./with-servers.ts";

const everything = "../test/everything/main.ts";
const throughHono = "./servers/everything-hono.ts";
const bare = "bare node:http";

/** One form of MCP, and what its answer for a finished task contains. */
interface Form {
  readonly open: (connection: Connection, url: string) => Promise<Requests>;
  readonly part: string;
}

const stateless: Form = {
  open: async (_connection, url) => new StatelessRequests(url),
  part: '"text":"42"',
};

// Here, the result needs its own request.
const session: Form = { open: openSession, part: '"status":"completed"' };

/** Sends the same request repeatedly. */
export function reads(server: ServerProcess, get: Buffer, answer: Buffer | string): Side {
  return {
    servers: [server],
    client: async (connection) => async () => assertAnswer(await connection.send(get), answer),
  };
}

/** Reads one finished task repeatedly, and has a bare server answer the same requests with the same bytes. */
function measure({ folder, effort }: Run, script: string, form: Form): Promise<Measurement> {
  return withServers(folder, async (start) => {
    const server = await start(script);
    const { get, reply } = await Connection.withOne(server.url, async (connection) =>
      finishedTask(connection, await form.open(connection, server.url)),
    );
    assertAnswer(reply, form.part);
    const reference = await start("./servers/bare.ts", { ANSWER: JSON.stringify(bareAnswer(reply)) });
    return compare(reads(server, get, reply.body), reads(reference, get, reply.body), effort);
  });
}

export const tasksGet: Figure = {
  name: "tasks-get",
  title: "tasks/get of a finished task, with serveHttp",
  against: bare,
  unit: "/s",
  goal: { atLeast: 0.6 },
  measure: (run) => measure(run, everything, stateless),
};

export const tasksGetHono: Figure = {
  name: "tasks-get-hono",
  title: "tasks/get of a finished task, with createFetchHandler under Hono",
  against: bare,
  unit: "/s",
  goal: { atLeast: 0.35 },
  measure: (run) => measure(run, throughHono, stateless),
};

export const tasksGetSession: Figure = {
  name: "tasks-get-session",
  title: "tasks/get in a session of 2025-11-25",
  against: bare,
  unit: "/s",
  goal: { atLeast: 0.5 },
  measure: (run) => measure(run, everything, session),
};
