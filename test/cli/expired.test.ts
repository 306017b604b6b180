import { expect, it, onTestFinished } from "vitest";
import { expiredError } from "../../src/task/outcome.ts";
import { created, failed, unknownTask } from "../client/answers.ts";
import { ScriptedServer } from "../client/scripted-server.ts";
import { folder } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

it("ends as for a task that expired, whether it is still known or not", async () => {
  const server = await ScriptedServer.start();
  onTestFinished(async () => server.stop());
  const tools = [{ name: "publish_report", inputSchema: { type: "object" } }];
  server.script("tools/list", { result: { resultType: "complete", tools, ttlMs: 0, cacheScope: "private" } });
  server.script("tools/call", created({ pollIntervalMs: 1 }));
  server.script("tasks/get", failed(expiredError));
  const run = await runMain(["call", server.url, "publish_report"], {
    env: { HOLDFAST_STATE: await folder() },
  });
  expect(run).toMatchObject({ code: 5, stdout: "" });
  expect(run.stderr).toContain(expiredError.message);
});

it.each([
  [1, "expired"],
  [null, "lost"],
])("lists a task with a ttl of %j ms that its server does not know as %s", async (ttlMs, status) => {
  const server = await ScriptedServer.start();
  onTestFinished(async () => server.stop());
  server.script("tools/call", created({ ttlMs }));
  server.script("tasks/get", unknownTask);
  const env = { HOLDFAST_STATE: await folder() };
  const { stdout } = await runMain(["call", server.url, "publish_report", "--detach"], { env });
  const listed = await runMain(["ls", "--refresh", "--json"], { env });
  expect(JSON.parse(listed.stdout)).toMatchObject({ tasks: [{ id: stdout.trim(), status }] });
  // A later list still knows, and so does who cleans up.
  expect((await runMain(["ls"], { env })).stdout).toContain(`\t${status}\n`);
  expect(await runMain(["forget"], { env })).toMatchObject({ code: 2 });
  const forgotten = await runMain(["forget", "--lost", "--json"], { env });
  expect(JSON.parse(forgotten.stdout)).toEqual({ ids: [stdout.trim()] });
  expect((await runMain(["ls"], { env })).stdout).toBe("");
});
