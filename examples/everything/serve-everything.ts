import { createTasks, type TasksOptions, type TaskServer } from "holdfast";
import { adminToken, serveHttp, type HttpServer } from "holdfast/http";
import { serveStdio, type StdioServer } from "holdfast/stdio";
import { storeFromUrl } from "holdfast/store";
import { byToken } from "./authenticate.ts";
import { baseServers } from "./base/base-servers.ts";
import { Changes } from "./base/changes.ts";
import type { Settings } from "./settings.ts";
import { addTaskTools } from "./tools/add-task-tools.ts";

const options: Omit<TasksOptions, "store"> = {
  companions: { answer: "task_answer", list: "task_list" },
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
  // One tool is there to ignore its cancel, as often as it is called.
  maxLeakedHandlers: 10_000,
  maxUnfinishedPerPrincipal: null,
  maxUnfinished: null,
};

/** Serves everything over HTTP; rejects where the port or the store cannot be used. */
export async function serveEverything(settings: Settings): Promise<HttpServer> {
  const { port, tokens, adminToken: operators } = settings;
  const changes = new Changes();
  const http = await serveHttp(everything(settings, changes), {
    port,
    ...(tokens === undefined ? { anonymous: "shared" } : { authenticate: byToken(tokens) }),
    ...(operators !== undefined && { admin: { authenticate: adminToken(operators) } }),
  });
  changes.tell(http.notify);
  return http;
}

/** Serves everything to the one client on stdin and stdout; rejects where the store cannot be used. */
export function serveEverythingOnStdio(settings: Settings): Promise<StdioServer> {
  return serveStdio(everything(settings, new Changes()));
}

/** The server for any transport. */
export function everything({ storeUrl, plain, plainDeadlineMs }: Settings, changes: Changes): TaskServer {
  const tasks = createTasks({ store: storeFromUrl(storeUrl), plain, plainDeadlineMs, ...options });
  addTaskTools(tasks);
  return tasks.server(baseServers(changes));
}
