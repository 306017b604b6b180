import type { ClientCapabilities } from "@modelcontextprotocol/client";
import type { McpServer, Server } from "@modelcontextprotocol/server";
import type { ServerFactory } from "../server/author-server.ts";
import type { Identity } from "../server/http/http-options.ts";
import type { TasksOptions } from "../server/tasks-options.ts";
import type { DurableFactory, Register } from "./test-process.ts";

const testedVersions = ["2026-07-28", "2025-11-25"] as const;

/** Options of `testTasks`: those of `createTasks` without the store, and these. */
export interface TestOptions extends Omit<TasksOptions, "store"> {
  /** Makes the server around the tools, as for `tasks.server`. Default: a server with nothing else. */
  readonly server?: ServerFactory<McpServer | Server>;
  /** The caller, as `authenticate` would return it. Default: callers are not told apart. */
  readonly caller?: Identity | string;
  /** The client's capabilities. Default: all that a tool can ask for. */
  readonly capabilities?: ClientCapabilities;
  /** The client's protocol version. Default 2026-07-28. (In versions before these two, clients name their tasks themselves.) */
  readonly protocolVersion?: (typeof testedVersions)[number];
  /** How long a handler may work before `clock.advance` moves time anyway, in ms of real time. Default 1,000. */
  readonly settleMs?: number;
  /**
   * How long a wait lasts while nothing happens, in ms of real time. Then it rejects and says what the task waits for: an answer, or time.
   * Default 2,000.
   */
  readonly patienceMs?: number;
}

/** JavaScript callers can pass anything: throws a TypeError that says what to pass. */
export function assertTested(
  tested: Register | DurableFactory,
  { server, protocolVersion = "2026-07-28" }: TestOptions,
): asserts tested is Register | DurableFactory {
  if (!testedVersions.includes(protocolVersion)) {
    throw new TypeError(
      `protocolVersion of testTasks is one of ${testedVersions.join(" and ")}, not ${String(protocolVersion)}.`,
    );
  }
  if (typeof tested === "function") return;
  if (typeof tested !== "object" || tested === null || typeof tested.durable !== "function") {
    const isServer = typeof tested === "object" && tested !== null && "tasks" in tested;
    throw new TypeError(
      isServer
        ? "testTasks makes the server itself, anew for each start, on a store and a clock of its own: testTasks({ durable: makeServer }, options)."
        : `testTasks takes a function that adds tools, since each start of the server calls it: testTasks((tasks) => addReport(tasks)), or testTasks({ durable: makeServer }). This is ${tested === null ? "null" : typeof tested}.`,
    );
  }
  if (server !== undefined) {
    throw new TypeError("testTasks has two servers here: durable makes it, so leave out the option server.");
  }
}
