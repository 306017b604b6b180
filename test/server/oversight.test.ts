import type { ServerEvent, TasksOptions } from "holdfast";
import { openTelemetry } from "holdfast/opentelemetry";
import { prometheusMetrics } from "holdfast/prometheus";
import { describe, expect, it } from "vitest";
import { withTask } from "../../src/generation/sep-1686.ts";
import { text, type Message } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";

type Generation = "2025-11-25" | "sep-1686";

/** A client of each generation that has no way to do without tasks. */
class Caller {
  readonly #generation: Generation;
  readonly #session: SessionClient;
  #calls = 0;

  constructor(generation: Generation, session: SessionClient) {
    this.#generation = generation;
    this.#session = session;
  }

  /** The id of a task that was made, or the refusal. */
  async call(): Promise<{ taskId: string; error?: unknown }> {
    const params = { name: "wait", arguments: {} };
    if (this.#generation === "2025-11-25") {
      const { result, error } = await this.#session.request("tools/call", { ...params, task: {} });
      const { taskId = "" } = ((result as Message | undefined)?.["task"] ?? {}) as { taskId?: string };
      return { taskId, error };
    }
    const taskId = `mine-${this.#calls++}`;
    const stream = await this.#session.begin("tools/call", withTask(params, { taskId }));
    const isRefused = stream.response.headers.get("content-type")?.startsWith("application/json") === true;
    const first = isRefused ? ((await stream.response.json()) as Message) : await stream.message();
    return { taskId, error: first?.["error"] };
  }

  ask(method: string, taskId?: string): Promise<Message> {
    return this.#session.request(method, taskId === undefined ? {} : { taskId });
  }
}

interface Place {
  readonly url: string;
  readonly events: ServerEvent[];
  /** Lets the tasks end. */
  readonly letGo: () => void;
}

async function start(options: Partial<TasksOptions> = {}): Promise<Place> {
  const events: ServerEvent[] = [];
  const gate = Promise.withResolvers<void>();
  const { http } = await serve({
    tools: (tasks) => tasks.tool("wait", {}, async () => (await gate.promise, text("done"))),
    options: { onEvent: (event) => events.push(event), ...options },
    http: {
      authenticate: async (sent) => sent.headers.get("authorization")?.replace("Bearer ", ""),
    },
  });
  return { url: http.url, events, letGo: gate.resolve };
}

describe.each<Generation>(["2025-11-25", "sep-1686"])("with tasks of %s", (generation) => {
  const open = async (url: string, name = "ann"): Promise<Caller> => {
    const version = generation === "2025-11-25" ? generation : "2025-06-18";
    const headers = { authorization: `Bearer ${name}` };
    return new Caller(generation, await SessionClient.open(url, { version, headers }));
  };
  const refused = { error: { code: -32000 } };

  it("each caller can make, poll, fetch, list and guess so many a time [C-123 S-089]", async () => {
    const rates = { callsPerMinute: 2, pollsPerInterval: 2, listsPerMinute: 2, missesPerMinute: 2 };
    const { url, letGo } = await start({ rates, pollIntervalMs: 3_600_000 });
    const [ann, bob] = [await open(url), await open(url, "bob")];
    const { taskId } = await ann.call();
    await ann.call();
    expect(await ann.call()).toMatchObject(refused);
    letGo();
    for (const [method, id] of [
      ["tasks/get", taskId],
      ["tasks/result", taskId],
      ["tasks/list", undefined],
      ["tasks/result", "nowhere"],
    ] as const) {
      for (let i = 0; i < 2; i += 1) expect(await ann.ask(method, id)).not.toMatchObject(refused);
      expect(await ann.ask(method, id), `${method} ${id}`).toMatchObject(refused);
    }
    expect(await bob.call()).not.toMatchObject(refused);
    expect(await bob.ask("tasks/list")).not.toMatchObject(refused);
  });

  it("tells who made a task and that it has ended [C-129 S-095]", async () => {
    const { url, events, letGo } = await start();
    const ann = await open(url);
    const { taskId } = await ann.call();
    letGo();
    await expect.poll(() => ann.ask("tasks/get", taskId)).toMatchObject({ result: { status: "completed" } });
    const of = { principal: "ann", tool: "wait", generation };
    const told = events.filter(({ type }) => type === "task.created" || type === "task.settled");
    expect(told).toMatchObject([
      { type: "task.created", ...of },
      { type: "task.settled", ...of, outcome: "result" },
    ]);
  });

  it("tells who looks for tasks that it does not have, and who polls too often [C-130 S-096]", async () => {
    const rates = { pollsPerInterval: 2, missesPerMinute: 3 };
    const { url, events } = await start({ rates, pollIntervalMs: 3_600_000 });
    const [ann, bob] = [await open(url), await open(url, "bob")];
    const { taskId } = await ann.call();
    for (let i = 0; i < 3; i += 1) await ann.ask("tasks/get", taskId);
    for (const id of [taskId, "guess", "another", "one too many"]) await bob.ask("tasks/result", id);
    const told = events.filter((event) => event.type === "request.refused");
    const guess = { principal: "bob", method: "tasks/result" };
    expect(told).toMatchObject([
      { principal: "ann", code: "rate_limited" },
      ...Array.from({ length: 3 }, () => ({ ...guess, code: "unknown_task" })),
      { principal: "bob", code: "rate_limited" },
    ]);
  });

  it("counts what it makes, ends and refuses, for those who watch [C-128 S-094]", async () => {
    const source = prometheusMetrics();
    const telemetry = openTelemetry({ meterProvider: source.meterProvider });
    const { url, letGo } = await start({ telemetry, maxUnfinishedPerPrincipal: 1 });
    const ann = await open(url);
    const { taskId } = await ann.call();
    expect((await ann.call()).error).toBeDefined();
    expect(await source.text()).toMatch(/^holdfast_slot_usage\{.*\} 1$/m);
    letGo();
    await expect.poll(() => ann.ask("tasks/get", taskId)).toMatchObject({ result: { status: "completed" } });
    const told = await source.text();
    expect(told).toMatch(/^holdfast_task_creations_total\{.*\} 1$/m);
    expect(told).toMatch(/^holdfast_task_duration_seconds_count\{.*\} 1$/m);
    expect(told).toMatch(/^holdfast_request_refusals_total\{.*"limit_reached".*\} 1$/m);
  });
});
