import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "holdfast/client";
import { expect, it } from "vitest";
import { newFolder, serveExample } from "../docs/example-process.ts";

it("shows a server that logs what happens, and keeps an audit", async () => {
  const folder = await newFolder();
  const server = await serveExample("guides/events.ts", folder);
  const client = await connect(server.url);
  await client.callTool("pay", { invoice: "secret-7", euros: 70 });
  await client.callTool("pay", { invoice: "secret-8", euros: 700 });
  await client.close();
  expect(await server.stop()).toEqual([0, null]);
  const read = (name: string): Promise<string> => readFile(join(folder, name), "utf8");
  const log = await read("server.log");
  const failed = log.split("\n").find((line) => line.includes('"level":50'));
  expect(JSON.parse(failed ?? "")).toMatchObject({
    event: "task.settled",
    tool: "pay",
    principal: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    err: { message: "beyond the limit", stack: expect.stringContaining("events.ts") as string },
  });
  const audit = (await read("audit.jsonl")).trim().split("\n");
  const events = audit.map((line) => JSON.parse(line) as { type: string });
  // No answer waits for it, so that it may come after what happens next.
  const isRetrieval = ({ type }: { type: string }): boolean => type === "task.retrieved";
  expect(events.filter(isRetrieval)).toMatchObject([
    { principal: "anonymous", via: expect.stringMatching(/^(tasks\/get|notifications\/tasks)$/) as string },
    { principal: "anonymous", via: expect.stringMatching(/^(tasks\/get|notifications\/tasks)$/) as string },
  ]);
  expect(events.filter((event) => !isRetrieval(event))).toMatchObject([
    { type: "task.created", tool: "pay", principal: "anonymous" },
    { type: "task.settled", outcome: "result" },
    { type: "task.created", tool: "pay", principal: "anonymous" },
    { type: "task.settled", outcome: "error_result" },
  ]);
  expect(log + audit.join()).not.toContain("secret-");
});
