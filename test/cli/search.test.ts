import { expect, it, onTestFinished } from "vitest";
import { ScriptedServer } from "../client/scripted-server.ts";
import { folder } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

it("finds the tools of all servers that were listed, by their words, and asks none", async () => {
  const env = { HOLDFAST_STATE: await folder() };
  const run = async (...args: string[]) => runMain(args, { env });
  expect(await run("search", "report")).toMatchObject({ code: 1, stdout: "" });
  const urls: string[] = [];
  for (const name of ["publish_report", "delete_report"]) {
    const server = await ScriptedServer.start();
    onTestFinished(async () => server.stop());
    const tools = [{ name, description: `${name} of a Month\nand more`, inputSchema: { type: "object" } }];
    server.script("tools/list", {
      result: { resultType: "complete", tools, ttlMs: 0, cacheScope: "private" },
    });
    urls.push(server.url);
    await run("tools", server.url);
    await server.stop();
  }
  expect((await run("search", "REPORT", "month")).stdout.split("\n").toSorted()).toEqual([
    "",
    `delete_report\t${urls[1]}\tdelete_report of a Month`,
    `publish_report\t${urls[0]}\tpublish_report of a Month`,
  ]);
  expect(JSON.parse((await run("search", "publish", "--json")).stdout)).toEqual({
    tools: [{ name: "publish_report", server: urls[0], about: "publish_report of a Month" }],
  });
  expect(await run("search", "more")).toMatchObject({ code: 1 });
  // Completion has the names, as before.
  expect((await run("complete-words", "bash", `holdfast call ${urls[0]} pub`)).stdout).toBe(
    "publish_report\n",
  );
});

/** A resource that changes twice, and a server that ends when it has been read three times. */
const changing = `
let reads = 0;
const say = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize")
    say({ id, result: { protocolVersion: "2025-11-25", capabilities: { resources: { subscribe: true } }, serverInfo: { name: "c", version: "1" } } });
  else if (method === "resources/subscribe") say({ id, result: {} });
  else if (method === "resources/read") {
    say({ id, result: { contents: [{ uri: params.uri, text: "state " + ++reads }] } });
    if (reads === 3) process.exitCode = 0, process.stdin.destroy();
    else for (const uri of ["other://x", params.uri]) say({ method: "notifications/resources/updated", params: { uri } });
  } else if (id !== undefined) say({ id, error: { code: -32601, message: "no " + method } });
});
`;

it("prints a resource again with each change, until the server ends", async () => {
  const env = { HOLDFAST_STATE: await folder() };
  const command = ["--", process.execPath, "-e", changing];
  const run = await runMain(["read", "a://b", "--follow", "--json", ...command], { env });
  expect(run.code).toBe(6);
  const texts = run.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { result?: { contents: { text: string }[] } });
  expect(texts.slice(0, 3).map(({ result }) => result?.contents[0]?.text)).toEqual([
    "state 1",
    "state 2",
    "state 3",
  ]);
  expect(texts).toHaveLength(4);
  expect(texts[3]).toMatchObject({ error: { kind: "connection" } });
});
