import { expect, it } from "vitest";
import type { ServerEvent, ServerEventData } from "../../src/runtime/events/server-event.ts";
import { Process, text, type Setup } from "../runtime/harness.ts";
import { CollectedMetrics } from "./collected-metrics.ts";

const question = { message: "Ship it?", requestedSchema: { type: "object", properties: {} } } as const;

function measured(tools: Setup["tools"], metrics: CollectedMetrics): Setup {
  const { telemetry } = metrics;
  return { tools, telemetry, onEvent: (event) => telemetry.metrics.event(event) };
}

it("counts and times what happens to a task, by its tool", async () => {
  const metrics = new CollectedMetrics();
  const setup = measured(
    {
      ship: async (_, task) => {
        await task.step("build", () => "built");
        await task.elicit("approve", question);
        await task.sleep("settle down", 2_000);
        return text("shipped");
      },
    },
    metrics,
  );
  const process = await Process.started(setup);
  const id = await process.callId("ship");
  await process.asked(id);
  await process.answer(id, "approve", { action: "accept", content: {} });
  await process.journalHas(id, "settle down");
  await process.clock.advance(2_000);
  await process.ended(id);
  await process.runtime.stop();

  const ship = { "gen_ai.tool.name": "ship" };
  expect(await metrics.points("holdfast.task.creations")).toEqual([{ attributes: ship, value: 1 }]);
  expect(await metrics.points("holdfast.task.duration")).toEqual([
    { attributes: { ...ship, "holdfast.task.outcome": "result" }, value: { count: 1, sum: 2 } },
  ]);
  expect(await metrics.points("holdfast.task.queue.duration")).toEqual([]); // it did not have to wait
  expect(await metrics.points("holdfast.attempt.starts")).toEqual([
    { attributes: { ...ship, "holdfast.attempt.resumed": false }, value: 1 },
  ]);
  expect(await metrics.points("holdfast.step.duration")).toEqual([
    { attributes: { ...ship, "holdfast.step.outcome": "done" }, value: { count: 1, sum: 0 } },
  ]);
  expect(await metrics.points("holdfast.question.asks")).toEqual([
    { attributes: { ...ship, "mcp.method.name": "elicitation/create" }, value: 1 },
  ]);
  expect(await metrics.points("holdfast.question.answers")).toEqual([{ attributes: ship, value: 1 }]);
});

it("counts attempts that ended before their tasks, those of dead processes by how many tasks were taken over", async () => {
  const metrics = new CollectedMetrics();
  const hanging = Promise.withResolvers<void>();
  let crashes = true;
  const tools: Setup["tools"] = {
    ship: async (_, task) => {
      await task.step("build", () => "built");
      if (!crashes) return text("shipped");
      hanging.resolve();
      return new Promise<never>(() => undefined);
    },
  };
  const first = await Process.started(measured(tools, new CollectedMetrics()));
  const id = await first.callId("ship");
  await hanging.promise;
  crashes = false;
  const second = await first.crash(measured(tools, metrics));
  await second.ended(id);
  await second.runtime.stop();
  expect(await metrics.points("holdfast.attempt.interruptions")).toEqual([
    { attributes: { "holdfast.attempt.end": "lost" }, value: 1 },
  ]);
  expect(await metrics.points("holdfast.owner.losses")).toEqual([{ attributes: {}, value: 1 }]);
});

it("counts refusals by their codes, and never by what the caller wrote", async () => {
  const metrics = new CollectedMetrics();
  const refusal: ServerEventData = { type: "request.refused", code: "limit_reached", principal: "ann" };
  const event = (told: ServerEvent): void => metrics.telemetry.metrics.event(told);
  for (const method of ["tools/call", "x".repeat(500), "y"]) event({ ...refusal, method, at: 0 });
  event({ ...refusal, code: "unauthorized", status: 401, at: 0 });
  expect(await metrics.points("holdfast.request.refusals")).toEqual([
    { attributes: { "error.type": "limit_reached" }, value: 3 },
    { attributes: { "error.type": "unauthorized", "http.response.status_code": 401 }, value: 1 },
  ]);
});

it("counts the tools that come after the first ones together, and gives them no series of their own", async () => {
  const metrics = new CollectedMetrics({ maxNames: 2 });
  const work: Setup["tools"][string] = async (_, task) => text(await task.step("work", () => "done"));
  const names = ["stays", "removed", "made-3", "made-4"];
  const tools = Object.fromEntries(names.map((name) => [name, work]));
  const process = await Process.started(measured(tools, metrics));
  for (const name of [...names, ...names]) await process.ended(await process.callId(name));
  const named = async (metric: string) =>
    (await metrics.points(metric)).map(({ attributes, value }) => [attributes["gen_ai.tool.name"], value]);
  const counts = [
    ["stays", 2],
    ["removed", 2],
    ["_OTHER", 4],
  ];
  expect(await named("holdfast.task.creations")).toEqual(counts);
  expect(await named("holdfast.attempt.starts")).toEqual(counts);
  expect((await named("holdfast.step.duration")).map(([name]) => name)).toEqual([
    "stays",
    "removed",
    "_OTHER",
  ]);
  await process.runtime.stop();
});

it("refuses a limit on names that is no whole number from 1", () => {
  for (const maxNames of [0, 1.5, Number.NaN])
    expect(() => new CollectedMetrics({ maxNames })).toThrow(
      "openTelemetry: maxNames must be a whole number from 1.",
    );
});
