import { spawn } from "node:child_process";
import { once } from "node:events";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { demoSetup } from "../../examples/index-folder/demo/demo-setup.ts";
import { newFolder } from "../docs/example-process.ts";
import { FreshDatabase } from "../postgres/test-database.ts";
import { root } from "./index-folder-process.ts";

/** How a server of a demo ends when the demo closes its stdin: Windows has no signal that would end it in order. */
async function endOf(script: string, setup: object): Promise<readonly unknown[]> {
  const child = spawn(process.execPath, [join(root, "examples", script), JSON.stringify(setup)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data"); // its URL
  child.stdin.end();
  return once(child, "exit");
}

it("the server of the demo ends in order without a signal", { timeout: 60_000 }, async () => {
  const workspace = await realpath(await newFolder());
  expect(await endOf("index-folder/demo/demo-server.ts", demoSetup(workspace, {}))).toEqual([0, null]);
});

it("so does a node of the cluster", { timeout: 60_000 }, async () => {
  const database = await FreshDatabase.create();
  onTestFinished(() => database.drop());
  const log = join(await newFolder(), "pages.jsonl");
  const setup = { url: database.url, schema: "holdfast_demo", leaseMs: 2_000, log };
  expect(await endOf("cluster/node.ts", setup)).toEqual([0, null]);
});
