import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { ServerProcess } from "../server-process.ts";

export type StartServer = (script: string, env?: Readonly<Record<string, string>>) => Promise<ServerProcess>;

/** Lets `work` start servers, each in its own folder below `folder`, and stops them afterwards. */
export async function withServers<T>(folder: string, work: (start: StartServer) => Promise<T>): Promise<T> {
  const servers: ServerProcess[] = [];
  try {
    return await work(async (script, env) => {
      const server = await ServerProcess.start(script, await mkdtemp(join(folder, "server-")), env);
      servers.push(server);
      return server;
    });
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}
