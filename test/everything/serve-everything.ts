import { createTasks, type TasksOptions, type TaskServer } from "holdfast";
import { adminToken, serveHttp, type HttpServer } from "holdfast/http";
import { serveStdio, type StdioServer } from "holdfast/stdio";
import { storeFromUrl } from "holdfast/store";
import { byToken } from "../../examples/authentication/by-token.ts";
import { baseServers } from "./base/base-servers.ts";
import { Changes } from "./base/changes.ts";
import type { Settings } from "./settings.ts";
import type { Telemetry } from "./telemetry.ts";
import { addTaskTools } from "./tools/add-task-tools.ts";

const options: Omit<TasksOptions, "store"> = {
  pollingTools: { answer: "task_answer", list: "task_list" },
  ttlMs: 3_600_000,
  requestedTtl: "task",
  pollIntervalMs: 200,
  cancelGraceMs: 5_000,
  maxBodyBytes: 8 * 1024 * 1024,
  // Twice this, for open requests and then for handlers, is less than the ten seconds that a stop may take.
  stopDeadlineMs: 4_000,
  // Suites create and poll as fast as they can.
  rates: {
    callsPerMinute: null,
    listsPerMinute: null,
    missesPerMinute: null,
    pollsPerInterval: null,
    maxLoopDelayMs: null,
  },
  // One of the tools ignores its cancel on purpose, each time that it is called.
  maxLeakedHandlers: 10_000,
  maxUnfinishedPerPrincipal: null,
  maxUnfinished: null,
};

/** Serves everything over HTTP; rejects if the port or the store cannot be used. */
export async function serveEverything(settings: Settings): Promise<HttpServer> {
  const { port, tokens, adminToken: operators } = settings;
  const changes = new Changes();
  const telemetry = await telemetryFor(settings);
  const authenticate = operators === undefined ? undefined : adminToken(operators);
  const http = await serveHttp(everything(settings, changes, telemetry), {
    port,
    ...(tokens === undefined ? { anonymous: "shared" } : { authenticate: byToken(tokens) }),
    ...(authenticate && { admin: { authenticate }, dashboard: {} }),
    ...(authenticate && telemetry && { metrics: { source: telemetry.metrics, authenticate } }),
  });
  changes.tell(http.notify);
  return endedBy(http, telemetry);
}

/** Serves everything to the one client on stdin and stdout; rejects if the store cannot be used. */
export async function serveEverythingOnStdio(settings: Settings): Promise<StdioServer> {
  const telemetry = await telemetryFor({ ...settings, adminToken: undefined });
  if (telemetry !== undefined) process.once("beforeExit", () => void telemetry.end()); // it ends with its stdin
  return endedBy(await serveStdio(everything(settings, new Changes(), telemetry)), telemetry);
}

/** The server for any transport. */
export function everything(settings: Settings, changes: Changes, telemetry?: Telemetry): TaskServer {
  const { storeUrl, plain, plainDeadlineMs } = settings;
  const tasks = createTasks({
    store: storeFromUrl(storeUrl),
    plain,
    plainDeadlineMs,
    ...(telemetry && { telemetry: telemetry.telemetry }),
    ...options,
  });
  addTaskTools(tasks);
  return tasks.server(baseServers(changes));
}

/** If nobody reads the measurements, nothing of OpenTelemetry is loaded. */
async function telemetryFor({
  adminToken: operators,
  otlp,
}: Pick<Settings, "adminToken" | "otlp">): Promise<Telemetry | undefined> {
  if (operators === undefined && otlp === undefined) return undefined;
  const { startTelemetry } = await import("./telemetry.ts");
  return startTelemetry({ otlp });
}

/** The server; its end waits until everything is exported. */
function endedBy<Server extends { close(): Promise<void> }>(
  server: Server,
  telemetry: Telemetry | undefined,
): Server {
  if (telemetry === undefined) return server;
  const close = async (): Promise<void> => {
    await server.close();
    await telemetry.end();
  };
  return { ...server, close };
}
