import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestProject } from "vitest/node";
import { OwnServer } from "./own-server.ts";
import { withClient } from "./with-client.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Answers with the URL of the run's Postgres. */
    readonly postgres: string;
    /** What names of schemas and databases of the run begin with. */
    readonly postgresNames: string;
  }
}

/** Nobody stops it while a test runs, so that it need not keep what it holds. */
const settings = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" };

/** One Postgres for all processes of a run, which is started for the first that asks and ends with the run. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let starting: Promise<OwnServer> | undefined;
  const desk = createServer((_request, response) => {
    starting ??= OwnServer.start(settings);
    starting.then(
      ({ url }) => response.end(url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await once(desk.listen(0, "127.0.0.1"), "listening");
  const { port } = desk.address() as AddressInfo;
  const names = `holdfast_test_${randomBytes(4).toString("hex")}`;
  project.provide("postgresNames", names);
  project.provide("postgres", `http://127.0.0.1:${port}/`);
  return async () => {
    desk.close();
    desk.closeAllConnections();
    const server = await starting?.catch(() => undefined);
    await server?.end();
    const elsewhere = process.env["HOLDFAST_TEST_POSTGRES"] ?? "";
    if (elsewhere !== "") await dropLeftovers(elsewhere, names);
  };
}

/** Of tests that came to no good end. */
async function dropLeftovers(url: string, names: string): Promise<void> {
  await withClient(url, async (client) => {
    const dropAll = async (kind: string, found: string): Promise<void> => {
      const { rows } = await client.query<{ name: string }>(found, [names]);
      for (const { name } of rows) await client.query(`drop ${kind.replace("NAME", name)}`);
    };
    await dropAll(
      "schema NAME cascade",
      "select nspname as name from pg_namespace where starts_with(nspname, $1)",
    );
    await dropAll(
      "database NAME with (force)",
      "select datname as name from pg_database where starts_with(datname, $1)",
    );
  });
}
