import { McpServer } from "@modelcontextprotocol/server";
import type { Tasks, TasksOptions } from "holdfast";
import { memoryDatabase, memoryStore } from "holdfast/memory";
import { isJsonObject } from "../../src/generation/message.ts";
import { responseOf } from "../../src/server/http/exchange.ts";
import { sessionKey } from "../../src/server/http/sessions/session-records.ts";
import { Sessions } from "../../src/server/http/sessions/sessions.ts";
import { UnreadBytes } from "../../src/server/http/unread-bytes.ts";
import { calledTool } from "../../src/server/request.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { FakeClock } from "../../src/testing/clocks.ts";
import { startServer } from "../kit/server.ts";
import { SessionClient, type SessionOptions } from "../kit/session-client.ts";
import { authorsOwn } from "./session-server.ts";

export const minute = 60_000;

interface Setup {
  readonly tools?: (tasks: Tasks) => void;
  readonly own?: (mcp: McpServer) => void;
  readonly store?: TaskStore;
  /** Called with the store of each process. */
  readonly wrap?: (store: TaskStore) => TaskStore;
  readonly rates?: TasksOptions["rates"];
  /** The scopes that tools need. */
  readonly scopes?: Readonly<Record<string, readonly string[]>>;
  readonly maxSessions?: number;
  readonly maxSessionsPerPrincipal?: number;
}

/** Processes that share a store: `kill` goes on in the next one, `beside` is another one at the same time. */
export async function processes({ tools = () => undefined, own, maxSessions = 2_000, ...setup }: Setup = {}) {
  const database = memoryDatabase();
  const { maxSessionsPerPrincipal = 2_000, scopes = {}, rates = {}, wrap = (store) => store } = setup;
  const { store = wrap(memoryStore(database)) } = setup;
  const made: McpServer[] = [];
  const { tasks, errors } = await startServer(tools, { store, rates });
  const makeServer = (): McpServer => {
    const mcp = new McpServer({ name: "reports", version: "1.2.3" });
    authorsOwn(mcp);
    own?.(mcp);
    made.push(mcp);
    return mcp;
  };
  const clock = new FakeClock();
  const start = (most = maxSessions, of = tasks): Sessions =>
    new Sessions({
      server: of.server(makeServer), // which knows nothing of what others wait for
      clock,
      unread: new UnreadBytes(Infinity),
      sessionIdleMs: 40 * minute,
      unusedSessionMs: minute,
      maxSessions: most,
      maxSessionsPerPrincipal,
      resumeMs: minute,
      maxOpenRequestsPerSession: 500,
      maxOpenRequestsPerPrincipal: 1_000,
    });
  let sessions = start();
  const fetchAs =
    (principal: string | null, granted?: readonly string[], serving = (): Sessions => sessions) =>
    async (url: string, init: RequestInit): Promise<Response> => {
      const request = new Request(url, init);
      const body: unknown = request.method === "POST" ? await request.json() : undefined;
      const neededFor = (tool: string): readonly string[] => scopes[tool] ?? [];
      const owner = {
        principal,
        ...(granted && {
          access: { scopes: granted, neededFor, scopedTools: Object.keys(scopes) },
          authInfo: { token: "", clientId: "desk", scopes: [...granted] },
        }),
      };
      const needed = neededFor(calledTool(isJsonObject(body) ? body["params"] : undefined));
      const refusal = (more: readonly string[]): Response | undefined =>
        granted === undefined || [...needed, ...more].every((scope) => granted.includes(scope))
          ? undefined
          : new Response(null, { status: 403 });
      return responseOf(await serving().fetch({ request, body, owner, needed, refusal }));
    };
  const keys: string[] = [];
  const url = "http://reports.example/mcp";
  const records = store.sessions;
  if (records === undefined) throw new Error("The store keeps no sessions.");
  return {
    clock,
    made,
    errors,
    records,
    size: () => sessions.size,
    /** The tasks of a request of the sessions that were opened. */
    tasksOf: async (requestId: string | number) => {
      const found = await Promise.all(keys.map((key) => records.tasksOf(key, 10, requestId)));
      const all = await Promise.all(found.flat().map((id) => store.get(id)));
      return all.flatMap((task) => task ?? []);
    },
    /** Nothing of the process is left but what it has stored. */
    kill: () => void (sessions = start()),
    stop: async () => {
      await sessions.close();
      sessions = start();
    },
    open: async (
      options: SessionOptions = {},
      principal: string | null = "ann",
      granted?: readonly string[],
    ) => {
      const peer = await SessionClient.open(url, options, fetchAs(principal, granted));
      keys.push(sessionKey(peer.sessionId ?? ""));
      return peer;
    },
    peer: (id: string | undefined, principal: string | null, granted?: readonly string[]) =>
      Object.assign(new SessionClient(url, {}, fetchAs(principal, granted)), { sessionId: id }),
    /** Another process at the same time, which may hold fewer sessions. */
    beside: async (most?: number) => {
      const others = await startServer(tools, { store: wrap(memoryStore(database)), rates });
      const other = start(most, others.tasks);
      return {
        size: () => other.size,
        errors: others.errors,
        /** The client of a session that was opened elsewhere, as it reaches this process. */
        peer: (
          { sessionId }: SessionClient,
          principal: string | null = "ann",
          granted?: readonly string[],
          options: SessionOptions = {},
        ) =>
          Object.assign(
            new SessionClient(
              url,
              options,
              fetchAs(principal, granted, () => other),
            ),
            { sessionId },
          ),
      };
    },
  };
}
