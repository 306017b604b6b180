import { expect, it } from "vitest";
import { completed, created, sent } from "../client/answers.ts";
import { setUp } from "../client/setup.ts";
import { Process } from "../runtime/harness.ts";
import { CollectedMetrics } from "./collected-metrics.ts";
import { RecordedSpans } from "./recorded-spans.ts";

it("measures codes of errors that a server makes up as one", async () => {
  const metrics = new CollectedMetrics();
  const { server, client } = await setUp({ telemetry: metrics.telemetry });
  const codes = [-32602, -32042, 1, 2, 7_000, -40_000];
  server.script("tools/call", ...codes.map((code) => ({ error: { code, message: "no" } })));
  for (const _ of codes) await expect(client.callTool("ship")).rejects.toThrow();
  const points = await metrics.points("mcp.client.operation.duration");
  const types = points.map(({ attributes }) => attributes["error.type"]).filter((type) => type !== undefined);
  expect(types).toEqual(["-32602", "-32042", "_OTHER"]);
});

it("cuts the ids of tasks that a server makes too long", async () => {
  const spans = new RecordedSpans();
  const { server, client } = await setUp({ telemetry: spans.telemetry });
  const taskId = "t".repeat(5_000);
  server.script("tools/call", created({ taskId }));
  server.script("tasks/get", completed(sent, { taskId }));
  await client.callTool("ship");
  const ids = spans.all
    .map(({ attributes }) => attributes["holdfast.task.id"])
    .filter((id) => id !== undefined);
  expect(ids).toEqual(["t".repeat(256), "t".repeat(256), "t".repeat(256)]);
});

it("takes no text for the type of an error, where a thrown one has it as its name or its code", async () => {
  const spans = new RecordedSpans({ errorText: "omit" });
  const errors = [
    Object.assign(new Error("?"), { name: "Wrong password: hunter2" }),
    Object.assign(new Error("?"), { code: "hunter2 is wrong" }),
    Object.assign(new Error("?"), { code: "ECONNREFUSED" }),
    new TypeError("hunter2"),
  ];
  const process = await Process.started({
    telemetry: spans.telemetry,
    tools: {
      ship: () => {
        throw errors[spans.named("execute_tool ship").length] ?? new Error("None is left");
      },
    },
  });
  for (const _ of errors) await process.ended(await process.callId("ship"));
  await process.runtime.stop();
  const types = spans.named("execute_tool ship").map(({ attributes }) => attributes["error.type"]);
  expect(types).toEqual(["_OTHER", "_OTHER", "ECONNREFUSED", "TypeError"]);
});
