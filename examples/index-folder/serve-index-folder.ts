import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type TasksOptions } from "holdfast";
import { serveHttp, type HttpServer } from "holdfast/http";
import { addIndexFolder, type IndexFolderOptions } from "./index-folder.ts";

interface ServeOptions extends IndexFolderOptions {
  readonly tasks: TasksOptions;
  readonly port: number;
}

/** Serves the tool until SIGINT or SIGTERM, then shuts down gracefully: running tasks are released, and continue next time. */
export async function serveIndexFolder({ tasks: options, port, ...tool }: ServeOptions): Promise<HttpServer> {
  const tasks = createTasks(options);
  addIndexFolder(tasks, tool);
  const http = await serveHttp(
    tasks.server(() => new McpServer({ name: "index-folder", version: "1.0.0" })),
    { port },
  );
  const close = (): void => {
    http.close().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  };
  // Not `once`: npm repeats the terminal's own Ctrl-C, and the second one would end the process half closed.
  process.on("SIGINT", close);
  process.on("SIGTERM", close);
  return http;
}
