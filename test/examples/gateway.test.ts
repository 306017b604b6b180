import { join } from "node:path";
import { connect } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { newFolder, serveExample } from "../docs/example-process.ts";
import { script } from "../interop/our-client-everything.ts";

it("makes the tools of another server durable, beside its own", { timeout: 60_000 }, async () => {
  const folder = await newFolder();
  const UPSTREAM = [process.execPath, script, "stdio"].join(" ");
  const variables = { UPSTREAM, DATABASE: join(folder, "tasks.db") };
  const server = await serveExample("gateway/server.ts", folder, variables);
  const client = await connect(server.url);
  onTestFinished(() => client.close());
  expect(await client.callTool("ping")).toMatchObject({ content: [{ text: "pong" }] });
  const handle = await client.startTool("other_get-sum", { a: 2, b: 3 });
  expect(handle.taskId).not.toBeNull();
  expect(JSON.stringify(await handle.result())).toContain("5");
});
