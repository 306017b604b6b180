import { McpServer } from "@modelcontextprotocol/server";
import type { Tasks, TasksOptions } from "holdfast";
import { memoryDatabase, memoryStore } from "holdfast/memory";
import { isJsonObject } from "../../src/generation/message.ts";
import { Admission, type Respond } from "../../src/server/http/admission.ts";
import { responseOf } from "../../src/server/http/exchange.ts";
import type { ProtectedResource } from "../../src/server/http/http-options.ts";
import { StoreClock } from "../../src/runtime/clock.ts";
import { EventIds, type OpenCall } from "../../src/server/http/sessions/event-log.ts";
import { sessionKey } from "../../src/server/http/sessions/session-records.ts";
import { Sessions } from "../../src/server/http/sessions/sessions.ts";
import { UnreadBytes } from "../../src/server/http/unread-bytes.ts";
import { calledTool } from "../../src/server/request.ts";
import type { TaskServer } from "../../src/server/task-server.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { FakeClock } from "../../src/testing/clocks.ts";
import { startServer } from "../kit/server.ts";
import { SessionClient, type SessionOptions } from "../kit/session-client.ts";
import { authorsOwn } from "./session-server.ts";

export const minute = 60_000;

/** What of a server stands between a request and its session. */
interface Serving {
  readonly server: TaskServer;
  readonly sessions: Sessions;
  readonly admission: Admission;
}

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
  const neededFor = (tool: string): readonly string[] => scopes[tool] ?? [];
  const resource: ProtectedResource = {
    document: () => undefined,
    authenticate: () => Promise.reject(new Error("The sender is known.")),
    needed: (body) =>
      [body]
        .flat()
        .flatMap((message) => neededFor(calledTool(isJsonObject(message) ? message["params"] : undefined))),
    refusal: ({ authInfo }, needed) =>
      [...needed].every((scope) => authInfo?.scopes.includes(scope) ?? true)
        ? undefined
        : new Response(null, { status: 403 }),
  };
  const start = (most = maxSessions, of = tasks): Serving => {
    const server = of.server(makeServer); // which knows nothing of what others wait for
    const sessions = new Sessions({
      server,
      clock: new StoreClock(clock),
      unread: new UnreadBytes(Infinity),
      sessionIdleMs: 40 * minute,
      unusedSessionMs: minute,
      maxSessions: most,
      maxSessionsPerPrincipal,
      resumeMs: minute,
      maxOpenRequestsPerSession: 500,
      maxOpenRequestsPerPrincipal: 1_000,
    });
    return { server, sessions, admission: new Admission(server, {}, resource) };
  };
  let current = start();
  const fetchAs =
    (principal: string | null, granted?: readonly string[], serving = (): Serving => current) =>
    async (url: string, init: RequestInit): Promise<Response> => {
      const request = new Request(url, init);
      const body: unknown = request.method === "POST" ? await request.json() : undefined;
      const owner = {
        principal,
        ...(granted && {
          access: { scopes: granted, neededFor, scopedTools: Object.keys(scopes) },
          authInfo: { token: "", clientId: "desk", scopes: [...granted] },
        }),
      };
      const { sessions, admission } = serving();
      const arrived = { request, isGet: body === undefined, body, sender: owner };
      const respond: Respond = (admitted) => sessions.fetch({ request, body, owner, admitted });
      return responseOf(await admission.admit(arrived, respond));
    };
  const idsOf = async ({ sessionId = "" }: SessionClient): Promise<EventIds> =>
    new EventIds(sessionKey(sessionId), await current.server.secret("session-events"));
  const keys: string[] = [];
  const url = "http://reports.example/mcp";
  const records = store.sessions;
  if (records === undefined) throw new Error("The store keeps no sessions.");
  return {
    clock,
    made,
    errors,
    records,
    size: () => current.sessions.size,
    /** The tasks of a request of the sessions that were opened. */
    tasksOf: async (requestId: string | number) => {
      const found = await Promise.all(keys.map((key) => records.tasksOf(key, 10, requestId)));
      const all = await Promise.all(found.flat().map((id) => store.get(id)));
      return all.flatMap((task) => task ?? []);
    },
    idsOf,
    /** The id of an event of another process, with these calls unanswered. */
    eventOf: async (peer: SessionClient, ...calls: readonly OpenCall[]) =>
      `00000000-1-1${(await idsOf(peer)).formatCalls(calls)}`,
    /** Nothing of the process is left but what it has stored. */
    kill: () => void (current = start()),
    stop: async () => {
      await current.sessions.close();
      current = start();
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
        size: () => other.sessions.size,
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
