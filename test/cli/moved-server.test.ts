import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { listener, usersMachine } from "./users-machine.ts";

/** A server whose tool ends at once, and one of the same tasks at another address. */
async function serverAtTwoAddresses(): Promise<readonly [string, string]> {
  const tasks = createTasks({ store: memoryStore() });
  tasks.tool("publish", { inputSchema: z.object({}) }, async () => ({
    content: [{ type: "text", text: "published" }],
  }));
  const serve = async (): Promise<string> => {
    const server = tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" }));
    const http = await serveHttp(server, { port: 0, anonymous: "shared" });
    onTestFinished(async () => http.close());
    return http.url;
  };
  return [await serve(), await serve()];
}

it("refuses a task whose name means another server by now, with both shown, unless --server says so", async () => {
  const [url, moved] = await serverAtTwoAddresses();
  const machine = await usersMachine({ reports: { url } });
  const started = await machine.run(["call", "reports", "publish", "--detach"]);
  const id = started.stdout.trim();
  await machine.config({ reports: machine.command });
  for (const words of [
    ["get", "last"],
    ["result", id],
    ["cancel", id.slice(0, 6)],
    ["watch", id],
    ["logs", id],
  ]) {
    const refused = await machine.run(words);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain(
      `The task was started at\n  ${url}\nbut "reports" now means\n  ${process.execPath}`,
    );
    expect(refused.stderr).toContain("add --server reports.");
  }
  const listed = await machine.run(["ls", "--refresh"]);
  expect(listed.stdout).toContain(`${id}\tpublish\treports\t`);
  expect(listed.stderr).toContain("now means");
  expect(machine.hasRun()).toBe(false);
  await machine.config({ reports: { url: moved } });
  expect(await machine.run(["get", "last"])).toMatchObject({ code: 2 });
  expect(await machine.run(["result", "last", "--server", "reports"])).toMatchObject({
    code: 0,
    stdout: "published\n",
  });
  expect(await machine.run(["ls"])).toMatchObject({ stdout: "" });
});

it("lets headers and variables of a server change, but not what its address is made of", async () => {
  const [url, moved] = await serverAtTwoAddresses();
  const machine = await usersMachine({ reports: { url: "${ADDRESS}", headers: { "x-one": "1" } } });
  await machine.run(["call", "reports", "publish", "--detach"], machine.home, { ADDRESS: url });
  await machine.config({ reports: { url: "${ADDRESS}", headers: { "x-two": "2" } } });
  expect(await machine.run(["get", "last"], machine.home, { ADDRESS: url })).toMatchObject({ code: 0 });
  const refused = await machine.run(["get", "last"], machine.home, { ADDRESS: moved });
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.stderr).toContain("the same, with other values of its variables");
  // It stays refused after another command that used the name.
  await machine.run(["tools", "reports"], machine.home, { ADDRESS: moved });
  expect(await machine.run(["get", "last"], machine.home, { ADDRESS: moved })).toMatchObject({ code: 2 });
});

it("asks again for a folder's server that a task was started at", async () => {
  const [url] = await serverAtTwoAddresses();
  const machine = await usersMachine();
  const cwd = await machine.project({ reports: { url } });
  await machine.run(["call", "reports", "publish", "--detach", "--trust"], cwd);
  const refused = await machine.run(["get", "last"]);
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.stderr).toContain("is not one that you trust");
  const listed = await machine.run(["ls", "--refresh"]);
  expect(listed.stdout).toMatch(/\treports\t.*\tunreachable\n$/);
  expect(listed.stderr).toContain("is not one that you trust");
  expect(await machine.run(["get", "last", "--trust"])).toMatchObject({ code: 0 });
  await machine.run(["trust", "reports"], cwd);
  expect(await machine.run(["result", "last"])).toMatchObject({ code: 0, stdout: "published\n" });
});

it("never means a task of the same name at another server, while one of that server is on the list", async () => {
  const [url, other] = await serverAtTwoAddresses();
  const machine = await usersMachine();
  const [here, there] = [
    await machine.project({ reports: { url } }),
    await machine.project({ reports: { url: other } }),
  ];
  const start = async (cwd: string): Promise<string> =>
    (await machine.run(["call", "reports", "publish", "--detach", "--trust"], cwd)).stdout.trim();
  const id = await start(here);
  await start(there);
  const got = await machine.run(["get", "last", "--server", "reports", "--trust", "--json"], here);
  expect(JSON.parse(got.stdout)).toMatchObject({ id });
});

it("takes --pass-env for a typed command line only", async () => {
  const attacker = await listener();
  const machine = await usersMachine();
  expect(await machine.run(["tools", attacker.url, "--pass-env", "HOLDFAST_STORE"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--pass-env is for a command line") as string,
  });
  expect(attacker.seen).toEqual([]);
});
