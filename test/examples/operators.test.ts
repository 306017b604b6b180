import { readFile } from "node:fs/promises";
import { connect, remoteAdmin } from "holdfast/client";
import { expect, it, vi } from "vitest";
import { example, newFolder, runExample, serveExample } from "../docs/example-process.ts";
import { served } from "../server/http-mount/mount.ts";

it("shows how an operator finds why tasks fail, and runs them again", { timeout: 60_000 }, async () => {
  let isThere = false;
  const { origin } = await served(
    (request, response) =>
      void request.resume().once("end", () => response.writeHead(isThere ? 200 : 503).end()),
  );
  const env = { ADMIN_TOKEN: "0perator", REPORTS_URL: origin };
  const server = await serveExample("guides/operators.ts", await newFolder(), env);
  const client = await connect(server.url);
  for (const month of ["may", "june"]) await client.callTool("publish_report", { month });
  await client.close();
  isThere = true;
  const admin = new URL("/admin", server.url).href;
  const said = await runExample("guides/retry-failed.ts", [admin], await newFolder(), env);
  expect(said).toMatch(/^2 × .*The archive answered …\. \(the last one: [\w-]+\)\n2 run again, 0 cannot\n$/);
  const operator = remoteAdmin(admin, { token: "0perator" });
  await vi.waitFor(
    async () => expect((await operator.counts()).tools).toMatchObject([{ failed: 2, completed: 2 }]),
    { timeout: 20_000 },
  );
  expect(await operator.actions({ limit: 1 })).toMatchObject([{ actor: "on-call", action: "retry" }]);
  expect(await server.stop()).toEqual([0, null]);
});

it("is what the guide shows", async () => {
  const guide = await readFile(new URL("../../docs/operate/admin-endpoint.md", import.meta.url), "utf8");
  for (const name of ["operators.ts", "retry-failed.ts"])
    expect(guide).toContain(await readFile(example(`guides/${name}`), "utf8"));
});
