import { createTasks, type PlainPolicy, type ToolConfig } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { expect, it } from "vitest";
import * as z from "zod";
import { Registry } from "../../../src/runtime/tool/registry.ts";
import { PlainPolicies } from "../../../src/server/plain/plain-policies.ts";
import { text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { type StartedServer, startServer } from "../../kit/server.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { Job, ticketOf } from "./job.ts";

const plain = { plain: "ticket", plainDeadlineMs: 20 } as const;

it.each<[string, Partial<ToolConfig>]>([
  ["plain", { plain: "later" as never }],
  ["plain", { plain: "ticket", task: "required" }],
  ["plain", { plain: "wait", task: "forbidden" }],
  ["plainDeadlineMs", { plainDeadlineMs: -1 }],
])("refuses an invalid %s of a tool or of all tools: %o", (name, config) => {
  const tasks = createTasks({ store: memoryStore() });
  expect(() => tasks.tool("t", config as object, () => ({ content: [] }))).toThrow(name);
  const { task, ...server } = config;
  if (task === undefined) expect(() => createTasks({ store: memoryStore(), ...server })).toThrow(name);
});

it("refuses a polling tool's name that a tool of the author has, at the start and on the author's server", async () => {
  const withTool = (name: string, pollingTools = {}): Promise<StartedServer> =>
    startServer((tasks) => tasks.tool(name, {}, () => text("a")), { ...plain, pollingTools });
  await expect(withTool("task_cancel")).rejects.toMatchObject({ code: "configuration" });
  await withTool("task_list"); // there is no polling tool of that name
  await expect(withTool("task_list", { list: "task_list" })).rejects.toMatchObject({ code: "configuration" });
  await expect(withTool("fetch_it", { result: "fetch_it" })).rejects.toMatchObject({ code: "configuration" });
  await expect(withTool("a", { result: "same", cancel: "same" })).rejects.toMatchObject({
    code: "configuration",
  });
  const { server, errors } = await startServer(
    (tasks) => tasks.tool("job", {}, () => text("a")),
    { ...plain, pollingTools: { answer: "task_answer" } },
    (mcp) => void mcp.registerTool("task_answer", {}, () => text("own")),
  );
  await expect(server.create({ era: "legacy" }, { principal: "ann" })).rejects.toMatchObject({
    code: "configuration",
    message: expect.stringContaining("pollingTools.answer") as unknown,
  });
  expect(errors).toHaveLength(1);
});

it.each([
  { result: "a", cancel: "a" },
  { result: "task_cancel" },
  { answer: "task_result" },
  { answer: "same", list: "same" },
  { result: "toString" },
  { result: "" },
  { result: 5 },
  { result: null },
  { result: "get result" },
  { results: "fetch_result" },
])("refuses polling tools that do not each have a valid name of its own: %j", (pollingTools) => {
  expect(() => createTasks({ store: memoryStore(), pollingTools: pollingTools as object })).toThrow(
    /the same name|pollingTools\.result must be a name of 1 to 128 letters|pollingTools has no option "results"/,
  );
});

it("uses the default for a name that is undefined", async () => {
  const pollingTools = { result: undefined } as object;
  const peer = await StatelessClient.of({
    tools: (tasks) => new Job().add(tasks, { plain: "ticket" }),
    options: { pollingTools },
  });
  const { tools } = await peer.result("tools/list", {}, { capabilities: {} });
  expect((tools as { name: string }[]).map(({ name }) => name)).toContain("task_result");
});

it("gives the polling tools the names that the author chose", async () => {
  const job = new Job();
  const { server } = await startServer((tasks) => job.add(tasks), {
    ...plain,
    pollingTools: { result: "fetch_it" },
  });
  const session = await InMemorySession.open(server);
  const { text: said, reference } = ticketOf(await session.result(session.call("job")));
  expect(said).toContain(`call fetch_it with {"reference":"${reference}"}`);
  job.end();
  expect(await session.result(session.call("fetch_it", { reference }))).toEqual(text("run 1"));
});

it.each([-1, 0.5, Number.NaN, "1000", null])("refuses %j as plainGraceMs", (plainGraceMs) => {
  expect(() => createTasks({ store: memoryStore(), plainGraceMs: plainGraceMs as number })).toThrow(
    "plainGraceMs",
  );
});

it("gives tickets by default, but for tools with an output schema, whose calls wait", async () => {
  const outputSchema = z.object({});
  const policies = (given: PlainPolicy | undefined): (PlainPolicy | undefined)[] => {
    const registry = new Registry();
    const configs: readonly ToolConfig[] = [
      {},
      { outputSchema },
      { outputSchema, plain: "ticket" },
      { plain: "wait" },
      { task: "required" },
    ];
    for (const [index, config] of configs.entries()) registry.add(`t${index}`, config, () => text("a"));
    const options = { plain: given, plainDeadlineMs: 0, plainGraceMs: 0, pollingTools: {} };
    const all = new PlainPolicies(registry, options);
    return registry.all().map((tool) => all.of(tool));
  };
  expect(policies(undefined)).toEqual(["ticket", "wait", "ticket", "wait", undefined]);
  expect(policies("ticket")).toEqual(["ticket", "ticket", "ticket", "wait", undefined]);
  expect(policies("wait")).toEqual(["wait", "wait", "ticket", "wait", undefined]);
});
