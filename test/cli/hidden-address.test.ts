import { readdir, readFile } from "node:fs/promises";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { McpServer } from "@modelcontextprotocol/server";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { askedByShells } from "../../src/cli/completion/scripts.ts";
import { KnownServers, Records } from "../../src/cli/state/records.ts";
import { folder } from "./run-cli.ts";
import { fileHandles } from "../../src/client/handles/file-handles.ts";
import { usersMachine } from "./users-machine.ts";

it("prints no value of a query, and stores it only with how to reach the server", async () => {
  const tasks = createTasks({ store: memoryStore() });
  tasks.tool("publish", { inputSchema: z.object({}) }, async () => ({
    content: [{ type: "text", text: "published" }],
  }));
  const server = tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" }));
  const http = await serveHttp(server, { port: 0, anonymous: "shared" });
  onTestFinished(async () => http.close());
  const { run, env } = await usersMachine({ named: { url: `${http.url}?key=s3cret` } });
  const url = `${http.url}?key=s3cret`;
  const away = "http://127.0.0.1:9/mcp?key=s3cret";
  const printed = new Map<string, string>();
  const runs = async (...words: string[]) => {
    const { code, stdout, stderr } = await run(words);
    printed.set(words.join(" "), stdout + stderr);
    return { code, stdout, stderr };
  };
  const { stdout } = await runs("call", url, "publish", "--detach");
  const id = stdout.trim();
  await runs("call", "named", "publish", "--detach", "--json");
  await runs("call", url.slice("http://".length), "publish", "--detach", "--json");
  await runs("ls");
  await runs("ls", "--json", "--refresh");
  await runs("get", id);
  await runs("get", "01");
  await runs("tools", url, "publish");
  await runs("tools", "127.0.0");
  await runs("doctor", url, "--json");
  await runs("logout", url);
  await runs("logout", url, "--json");
  await runs("login", away, "--no-browser");
  await runs("ls", "--server", away);
  await runs("watch", "none", "--server", away);
  for (const word of [
    away,
    away.slice("http://".length),
    "127.0.0.1.example/mcp?key=s3cret",
    `./none mcp-remote ${away}`,
  ])
    await runs("tools", word);
  await runs(askedByShells, "bash", "holdfast tools http");
  expect(await runs("result", id)).toMatchObject({ code: 0, stdout: "published\n" });
  expect([...printed].filter(([, text]) => text.includes("s3cret"))).toEqual([]);
  expect(printed.get("ls")).toContain(`\tpublish\t${http.url}?key=***\t`);
  const state = env.HOLDFAST_STATE;
  const files = (await readdir(state, { recursive: true, withFileTypes: true })).filter((file) =>
    file.isFile(),
  );
  for (const { parentPath, name } of files) {
    const text = await readFile(join(parentPath, name), "utf8");
    if (name !== "state.db") expect(text).not.toContain("s3cret");
  }
  const handles = await fileHandles(join(state, "state.db")).list();
  expect(handles.calls.length).toBeGreaterThan(0);
  expect(JSON.stringify(handles)).not.toContain("s3cret");
});

it("says once, for people only, which of our variables a typed command does not get", async () => {
  const machine = await usersMachine();
  const env = { HOLDFAST_STORE: "sqlite:s3cret.db" };
  const words = ["tools", "--", "node", "-e", "process.exit(3)"];
  const { stderr } = await machine.run(words, machine.home, env);
  expect(
    stderr.match(/the server does not get HOLDFAST_STORE; to pass one, use --pass-env NAME/g),
  ).toHaveLength(1);
  expect(stderr).not.toContain("s3cret");
  expect(stderr).not.toContain("HOLDFAST_TOKEN");
  const passed = await machine.run(
    ["tools", "--pass-env", "HOLDFAST_STORE", ...words.slice(1)],
    machine.home,
    env,
  );
  expect(passed.stderr).not.toContain("does not get");
  const json = await machine.run(["tools", "--json", ...words.slice(1)], machine.home, env);
  expect(json.stderr).toBe("");
});

it("remembers which variables were passed, for later commands about the tasks", async () => {
  const servers = new KnownServers(new Records(join(await folder(), "state.db")));
  const spec = { given: "stdio:node server.js", cwd: "/work", passEnv: ["HOLDFAST_STORE"] };
  servers.keep({ name: "server", spec });
  expect(servers.list()).toMatchObject([{ name: "server", spec }]);
});
