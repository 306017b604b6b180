import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestProject } from "vitest/node";
import { OwnServer } from "./own-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Answers with the URL of the run's Postgres. */
    readonly postgres: string;
  }
}

/** One Postgres for all processes of a run, which is started for the first that asks and ends with the run. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let starting: Promise<OwnServer> | undefined;
  const desk = createServer((_request, response) => {
    starting ??= OwnServer.start();
    starting.then(
      ({ url }) => response.end(url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await once(desk.listen(0, "127.0.0.1"), "listening");
  const { port } = desk.address() as AddressInfo;
  project.provide("postgres", `http://127.0.0.1:${port}/`);
  return async () => {
    desk.close();
    desk.closeAllConnections();
    const server = await starting?.catch(() => undefined);
    await server?.end();
  };
}
