import { assertAnswer, openSession } from "../client/answers.ts";
import { Connection } from "../client/connection.ts";
import { StatelessRequests } from "../client/requests.ts";
import { calls } from "../figures/create.ts";
import { livesOf20251125, livesOf20260728 } from "../figures/lives.ts";
import { keepBusy, withClients, type Side } from "../load.ts";
import { NodeProcess, type NodeSettings, type PeerKind } from "../postgres/node-process.ts";
import { writtenBelow } from "../process-tree.ts";
import { ServerProcess } from "../server-process.ts";
import { OwnServer } from "../../test/postgres/own-server.ts";

/** A system at work. Dispose of it: that ends its processes. */
export interface Running extends AsyncDisposable {
  /** With their descendants, all of its processes: servers, workers, engine and database. */
  readonly pids: readonly number[];
  /** Bytes written so far to what is durable. */
  readonly writtenBytes: () => number;
  /** Lives of tasks, so many at a time for this long. */
  readonly work: (
    ms: number,
    most: number,
  ) => Promise<{ readonly lives: number; readonly perSecond: number }>;
}

/** Something that does the work of a task. */
export interface System {
  readonly name: string;
  readonly title: string;
  /** Called over MCP, or in its own process. */
  readonly through: "mcp" | "library";
  /** What happens in a life. */
  readonly life: string;
  /** What a crash leaves of a task, of whose call the answer has gone out. */
  readonly durability: string;
  readonly start: (folder: string) => Promise<Running>;
}

const sum = Buffer.from('"text":"42"');
const onDisk = "on disk, fsync";
const inMemory = "none: in memory";

/** A server, with a Postgres of its own if its store needs one. */
function served(script: string, side: (server: ServerProcess) => Side, store?: string): System["start"] {
  return async (folder) => {
    const database = store === "postgres" ? await OwnServer.start() : undefined;
    const url = database?.url ?? store;
    const server = await ServerProcess.start(
      script,
      folder,
      url === undefined ? {} : { HOLDFAST_STORE: url },
    );
    return {
      pids: database === undefined ? [server.pid] : [server.pid, database.pid],
      // All that it sends, this process receives.
      writtenBytes: () =>
        database === undefined ? writtenBelow(server.pid) - Connection.received : writtenBelow(database.pid),
      work: (ms, most) =>
        withClients(side(server), most, async (units) => {
          const { done, perSecond } = await keepBusy(units, ms);
          return { lives: done, perSecond };
        }),
      async [Symbol.asyncDispose]() {
        await server.stop();
        await database?.end();
      },
    };
  };
}

/** Calls of a client that knows no tasks. */
const plainCalls = (server: ServerProcess): Side => ({
  servers: [server],
  client: async (connection, url) => {
    const call = new StatelessRequests(url, undefined, {}).call("add", { a: 19, b: 23 });
    return async () => assertAnswer(await connection.send(call), sum);
  },
});

/** The same in a session of 2025-11-25. */
const sessionCalls = (server: ServerProcess): Side => ({
  servers: [server],
  client: async (connection, url) => {
    const call = (await openSession(connection, url)).plainCall("add", { a: 19, b: 23 });
    return async () => assertAnswer(await connection.send(call), sum);
  },
});

/** A process that starts lives and runs them. */
function inProcess(
  start: (settings: NodeSettings) => Promise<NodeProcess>,
  store: "sqlite" | "postgres" | "own",
): System["start"] {
  return async (folder) => {
    const database = store === "postgres" ? await OwnServer.start() : undefined;
    const node = await start(
      database === undefined ? { url: `sqlite:${folder}/tasks.db` } : { url: database.url, schema: "bench" },
    );
    return {
      pids: database === undefined ? [node.pid] : [node.pid, database.pid],
      writtenBytes: () => {
        if (store === "own") return writtenBelow(node.pid, "descendants");
        return writtenBelow(database?.pid ?? node.pid);
      },
      work: (ms, most) => node.work(ms, most),
      async [Symbol.asyncDispose]() {
        await node[Symbol.asyncDispose]();
        await database?.end();
      },
    };
  };
}

const ours = (store: "sqlite" | "postgres", hasStep: boolean): System["start"] =>
  inProcess((settings) => NodeProcess.start({ ...settings, hasStep }), store);
const theirs = (kind: PeerKind, store: "postgres" | "own" = "postgres"): System["start"] =>
  inProcess((settings) => NodeProcess.startPeer(kind, settings), store);

const polled = "call, run, polls until the answer has the result";
const plain = "one call, answered with the result";
const stepped = "created, one step, ended, read";
const job = "added, run, completed; no result is kept";

export const systems: readonly System[] = [
  {
    name: "holdfast-sqlite",
    title: "Holdfast, tasks on SQLite",
    through: "mcp",
    life: polled,
    durability: onDisk,
    start: served("./servers/holdfast.ts", livesOf20260728, "sqlite:tasks.db"),
  },
  {
    name: "holdfast-postgres",
    title: "Holdfast, tasks on Postgres",
    through: "mcp",
    life: polled,
    durability: onDisk,
    start: served("./servers/holdfast.ts", livesOf20260728, "postgres"),
  },
  {
    name: "holdfast-memory",
    title: "Holdfast, tasks in memory",
    through: "mcp",
    life: polled,
    durability: inMemory,
    start: served("./servers/holdfast.ts", livesOf20260728, "memory:"),
  },
  {
    name: "sdk-v1",
    title: "MCP SDK v1, tasks",
    through: "mcp",
    life: "call, polls, `tasks/result`, in a session",
    durability: inMemory,
    start: served("./servers/sdk-v1.ts", livesOf20251125),
  },
  {
    name: "holdfast-plain",
    title: "Holdfast, call of a client without tasks, on SQLite",
    through: "mcp",
    life: plain,
    durability: onDisk,
    start: served("./servers/holdfast.ts", plainCalls, "sqlite:tasks.db"),
  },
  {
    name: "sdk-v2",
    title: "MCP SDK v2, plain call",
    through: "mcp",
    life: plain,
    durability: "none: no task",
    start: served("./servers/sdk-v2.ts", (server) => calls([server], sum)),
  },
  {
    name: "fastmcp",
    title: "FastMCP for TypeScript, plain call",
    through: "mcp",
    life: `${plain}, in a session`,
    durability: "none: no task",
    start: served("./peers/fastmcp.js", sessionCalls),
  },
  {
    name: "holdfast-sqlite-step",
    title: "Holdfast on SQLite",
    through: "library",
    life: stepped,
    durability: onDisk,
    start: ours("sqlite", true),
  },
  {
    name: "holdfast-postgres-step",
    title: "Holdfast on Postgres",
    through: "library",
    life: stepped,
    durability: onDisk,
    start: ours("postgres", true),
  },
  {
    name: "dbos",
    title: "DBOS on Postgres",
    through: "library",
    life: "a workflow with one step, awaited",
    durability: onDisk,
    start: theirs("dbos"),
  },
  {
    name: "restate",
    title: "Restate with its server",
    through: "library",
    life: "a call of a service with one step, awaited",
    durability: onDisk,
    start: theirs("restate", "own"),
  },
  {
    name: "holdfast-postgres-job",
    title: "Holdfast on Postgres",
    through: "library",
    life: "created, run, ended, read",
    durability: onDisk,
    start: ours("postgres", false),
  },
  {
    name: "graphile",
    title: "graphile-worker, as in its first example",
    through: "library",
    life: job,
    durability: onDisk,
    start: theirs("graphile"),
  },
  {
    name: "graphile-tuned",
    title: "graphile-worker, with batches and its local queue",
    through: "library",
    life: job,
    durability: onDisk,
    start: theirs("graphile-tuned"),
  },
  {
    name: "pg-boss",
    title: "pg-boss, in batches",
    through: "library",
    life: job,
    durability: onDisk,
    start: theirs("pg-boss"),
  },
];
