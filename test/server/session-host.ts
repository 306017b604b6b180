import { McpServer, type Transport } from "@modelcontextprotocol/server";
import { StoreClock } from "../../src/runtime/clock.ts";
import type { EventLimits } from "../../src/server/http/sessions/event-log.ts";
import { responseOf } from "../../src/server/http/exchange.ts";
import { UnreadBytes } from "../../src/server/http/unread-bytes.ts";
import { Sessions } from "../../src/server/http/sessions/sessions.ts";
import type { Streams } from "../../src/server/streams.ts";
import type { TaskServer } from "../../src/server/task-server.ts";
import { FakeClock } from "../../src/testing/clocks.ts";
import { SessionClient, type SessionOptions } from "../kit/session-client.ts";
import { authorsOwn } from "./session-server.ts";
import { admitted } from "./admitted.ts";

interface HostOptions {
  readonly sessionIdleMs?: number;
  readonly unusedSessionMs?: number;
  readonly maxSessions?: number;
  readonly resumeMs?: number;
  readonly maxOpenRequestsPerSession?: number;
  readonly maxOpenRequestsPerPrincipal?: number;
  readonly maxSessionsPerPrincipal?: number;
  readonly limits?: EventLimits;
  readonly memoryBytes?: number;
  readonly server?: (mcp: McpServer) => void;
}

/** Sessions without a network, on a clock that the test moves. */
export class SessionHost {
  readonly clock = new FakeClock();
  readonly errors: unknown[] = [];
  readonly sessions: Sessions;
  /** Of each session, in the order of opening. */
  readonly streams: Streams[] = [];
  readonly servers: McpServer[] = [];

  constructor({
    sessionIdleMs = 1_000,
    unusedSessionMs = 1_000,
    maxSessions = 10,
    resumeMs = 60_000,
    maxOpenRequestsPerSession = 500,
    maxOpenRequestsPerPrincipal = 1_000,
    maxSessionsPerPrincipal = 10,
    limits,
    memoryBytes,
    server,
  }: HostOptions = {}) {
    const openSession = async (_context: unknown, _owner: unknown, streams?: Streams): Promise<object> => {
      const mcp = new McpServer({ name: "reports", version: "1" });
      authorsOwn(mcp);
      server?.(mcp);
      this.servers.push(mcp);
      if (streams !== undefined) this.streams.push(streams);
      return {
        dispatcher: {},
        connect: (wire: Transport) => mcp.connect(wire),
        handle: () => undefined,
        close: () => mcp.close(),
      };
    };
    const onError = (error: unknown): void => void this.errors.push(error);
    this.sessions = new Sessions({
      server: { openSession, onError, isRepeatable: () => false } as unknown as TaskServer,
      clock: new StoreClock(this.clock),
      unread: new UnreadBytes(Infinity),
      sessionIdleMs,
      unusedSessionMs,
      maxSessions,
      maxSessionsPerPrincipal,
      resumeMs,
      maxOpenRequestsPerSession,
      maxOpenRequestsPerPrincipal,
      ...(limits !== undefined && { limits }),
      ...(memoryBytes !== undefined && { memoryBytes }),
    });
  }

  peer(options?: SessionOptions, principal: string | null = null): SessionClient {
    const fetch = (url: string, init: RequestInit): Promise<Response> => this.#fetchAs(principal, url, init);
    return new SessionClient("http://reports.example/mcp", options, fetch);
  }

  open(options?: SessionOptions, principal: string | null = null): Promise<SessionClient> {
    const fetch = (url: string, init: RequestInit): Promise<Response> => this.#fetchAs(principal, url, init);
    return SessionClient.open("http://reports.example/mcp", options, fetch);
  }

  async #fetchAs(principal: string | null, url: string, init: RequestInit): Promise<Response> {
    const request = new Request(url, init);
    const body: unknown = request.method === "POST" ? await request.json() : undefined;
    return responseOf(await this.sessions.fetch({ request, body, owner: { principal }, admitted }));
  }
}
