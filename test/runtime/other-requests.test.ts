import { ProtocolError } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { Registry, type OtherRequest } from "../../src/runtime/tool/registry.ts";
import type { TaskSnapshot } from "../../src/task/record.ts";
import { FakeClock, rest } from "../../src/testing/clocks.ts";
import { nobody, text } from "./harness.ts";

async function ended(runtime: Runtime, method: OtherRequest, params: object): Promise<TaskSnapshot> {
  const call = { ...nobody, method, tool: method, arguments: params, origin: { capabilities: {} } };
  const { task } = await runtime.create(call);
  await rest();
  return runtime.get(task.id, nobody);
}

it("are tasks with the result as it is, beside a tool of the same name [S-040]", async () => {
  const registry = new Registry();
  registry.add("resources/read", {}, () => text("a tool"));
  registry.addOther("resources/read", async ({ uri }) => ({ contents: [{ uri, text: "read" }] }));
  registry.addOther("prompts/get", async () => Promise.reject(new ProtocolError(-32602, "no such prompt")));
  const runtime = createRuntime({ store: memoryStore(), registry, clock: new FakeClock() });
  await runtime.start();
  const read = await ended(runtime, "resources/read", { uri: "test://a" });
  expect(read.task).toMatchObject({ method: "resources/read", state: "settled" });
  expect(JSON.parse(read.outcome?.body ?? "")).toEqual({ contents: [{ uri: "test://a", text: "read" }] });
  const got = await ended(runtime, "prompts/get", {});
  expect(got.outcome).toMatchObject({ kind: "error" });
  expect(JSON.parse(got.outcome?.body ?? "")).toEqual({ code: -32602, message: "no such prompt" });
  await runtime.stop();
});

it("are bounded in size as tools are", async () => {
  const registry = new Registry();
  registry.addOther("resources/read", async () => ({ contents: ["x".repeat(100)] }));
  const options = { maxBodyBytes: 50 };
  const runtime = createRuntime({ store: memoryStore(), registry, options, clock: new FakeClock() });
  await runtime.start();
  const { outcome } = await ended(runtime, "resources/read", {});
  expect(JSON.parse(outcome?.body ?? "")).toMatchObject({ code: -32603 });
  await runtime.stop();
});
