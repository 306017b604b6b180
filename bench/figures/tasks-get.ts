import { assertAnswer, finishedTask, openSession, runningTask } from "../client/answers.ts";
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

/** One form of MCP, the task that is read, and what its answer contains. */
interface Form {
  readonly open: (connection: Connection, url: string) => Promise<Requests>;
  readonly task: typeof finishedTask;
  readonly part: string;
}

const stateless: Form = {
  open: async (_connection, url) => new StatelessRequests(url),
  task: finishedTask,
  part: '"text":"42"',
};

const running: Form = { ...stateless, task: runningTask, part: '"status":"working"' };

// Here, the result needs its own request.
const session: Form = { open: openSession, task: finishedTask, part: '"status":"completed"' };

/** Sends the same request repeatedly. */
export function reads(server: ServerProcess, get: Buffer, answer: Buffer | string): Side {
  return {
    servers: [server],
    client: async (connection) => async () => assertAnswer(await connection.send(get), answer),
  };
}

/** Reads one task repeatedly, and has a bare server answer the same requests with the same bytes. */
function measure({ folder, effort }: Run, script: string, form: Form): Promise<Measurement> {
  return withServers(folder, async (start) => {
    const server = await start(script);
    const { get, reply } = await Connection.withOne(server.url, async (connection) =>
      form.task(connection, await form.open(connection, server.url)),
    );
    assertAnswer(reply, form.part);
    const reference = await start("./servers/bare.ts", { ANSWER: JSON.stringify(bareAnswer(reply)) });
    // The answer of a running task says when it has last changed.
    const answer = form === running ? form.part : reply.body;
    return compare(reads(server, get, answer), reads(reference, get, reply.body), effort);
  });
}

export const tasksGet: Figure = {
  name: "tasks-get",
  title: "tasks/get of a finished task, with serveHttp",
  against: bare,
  unit: "/s",
  goal: { atLeast: 0.6, of: "cpu" },
  measure: (run) => measure(run, everything, stateless),
};

export const tasksGetRunning: Figure = {
  name: "tasks-get-running",
  title: "tasks/get of a running task, with serveHttp",
  against: bare,
  unit: "/s",
  goal: { atLeast: 0.45, of: "cpu" },
  measure: (run) => measure(run, everything, running),
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
  goal: { atLeast: 0.5, of: "cpu" },
  measure: (run) => measure(run, everything, session),
};
