import { McpServer } from "@modelcontextprotocol/server";
import type { Tasks } from "holdfast";
import { createFetchHandler } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { onTestFinished } from "vitest";
import { createAdmin } from "../../../src/admin/create-admin.ts";
import { createRuntime } from "../../../src/runtime/create-runtime.ts";
import { type OnEvent, ServerEvents } from "../../../src/runtime/events/server-events.ts";
import type { RuntimeOptions } from "../../../src/runtime/options.ts";
import { Registry } from "../../../src/runtime/tool/registry.ts";
import { createTaskServer } from "../../../src/server/create-task-server.ts";
import { PlainPolicies, type PlainOptions } from "../../../src/server/plain/plain-policies.ts";
import { RequestForwarder } from "../../../src/server/sep-1686/forwarded-requests.ts";
import type { TaskServer } from "../../../src/server/task-server.ts";
import type { TaskStore } from "../../../src/store/store.ts";
import { FakeClock } from "../../../src/testing/clocks.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";

export interface ClockedServer {
  readonly server: TaskServer;
  readonly clock: FakeClock;
  readonly errors: unknown[];
  /** A client of 2026-07-28; null: callers are not told apart. */
  peer(principal: string | null): StatelessClient;
}

interface Setup extends Partial<PlainOptions> {
  readonly clock?: FakeClock;
  readonly store?: TaskStore;
  readonly runtimeOptions?: RuntimeOptions;
  readonly onEvent?: OnEvent;
}

/** A server with the default options for clients without tasks, on a clock that the test moves. */
export async function clockedServer(
  tools: (tasks: Pick<Tasks, "tool">) => void,
  { clock = new FakeClock(), store = memoryStore(), runtimeOptions = {}, onEvent, ...plain }: Setup = {},
): Promise<ClockedServer> {
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const registry = new Registry();
  const events = onEvent && new ServerEvents({ listeners: [onEvent], clock, onError });
  const runtime = createRuntime({ store, registry, clock, onError, events, options: runtimeOptions });
  const options = { plain: undefined, plainDeadlineMs: 45_000, plainGraceMs: 600_000, pollingTools: {} };
  const admin = createAdmin({
    store: runtime.store,
    now: () => clock.now(),
    after: (ms, run) => clock.after(ms, run),
    every: (ms, run) => clock.every(ms, run),
    randomBytes: (size) => clock.randomBytes(size),
    maxBodyBytes: runtime.options.maxBodyBytes,
    onChange: () => runtime.lookForWork(),
  });
  const server = createTaskServer({
    runtime,
    admin,
    factory: () => new McpServer({ name: "reports", version: "1" }),
    onError,
    settings: {
      legacyErrorCodes: false,
      requireTasks: false,
      listRequiredTools: false,
      rates: { maxLoopDelayMs: null },
      maxListensPerPrincipal: 1,
      maxIdsPerListen: 1,
    },
    policies: new PlainPolicies(registry, { ...options, ...plain }),
    forwarder: new RequestForwarder(registry),
  });
  tools({ tool: (name, config, handler) => registry.add(name, config, handler) });
  await server.start();
  onTestFinished(async () => {
    void server.stop(0); // a store that crashed never ends it
    await clock.advance(1);
  });
  return {
    server,
    clock,
    errors,
    peer(principal) {
      const authenticate = async (): Promise<string> => String(principal);
      const handler = createFetchHandler(server, {
        allowedHosts: "any",
        ...(principal === null ? {} : { authenticate }),
      });
      onTestFinished(() => handler.close());
      return new StatelessClient("http://localhost/mcp", (url, init) =>
        handler.fetch(new Request(url, init)),
      );
    },
  };
}
