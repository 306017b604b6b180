import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { durable, type DurableServer, type ServerFactory, type TasksOptions } from "holdfast";
import { serveHttp, type HttpOptions } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { onTestFinished } from "vitest";
import { StatelessClient } from "../kit/stateless-client.ts";

/** A server of one author's, in which `register` registers tools as the SDK has it. */
export function making(register: (server: McpServer) => void): () => McpServer {
  return () => {
    const server = new McpServer({ name: "reports", version: "1.2.3" });
    register(server);
    return server;
  };
}

export interface Durable {
  readonly peer: StatelessClient;
  readonly url: string;
  readonly server: DurableServer;
  readonly errors: unknown[];
  readonly close: () => Promise<void>;
}

/** Serves what `durable` makes of the factory, on a free port, until it is closed or the test ends. */
export async function serveDurable(
  factory: ServerFactory,
  options: Partial<TasksOptions> = {},
  http: HttpOptions = {},
): Promise<Durable> {
  const errors: unknown[] = [];
  const server = durable(factory, {
    store: memoryStore(),
    stopDeadlineMs: 100,
    rates: { pollsPerInterval: null, maxLoopDelayMs: null }, // tests poll as fast as they can, and the machine may be busy with other things
    onError: (error) => errors.push(error),
    ...options,
  });
  const served = await serveHttp(server, { port: 0, ...http });
  const close = (): Promise<void> => served.close();
  onTestFinished(close);
  return { peer: new StatelessClient(served.url), url: served.url, server, errors, close };
}

/** A folder that is gone when the test has ended. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-durable-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
