import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { testTasks } from "holdfast/testing";
import { expect, it, onTestFinished } from "vitest";
import { addDrugScreening } from "../../../examples/use-cases/drug-screening.ts";
import { screeningService } from "../../../examples/use-cases/screening-service.ts";
import { example } from "../../docs/example-process.ts";

const aspirin = "CC(=O)Oc1ccccc1C(=O)O";
const screening = { library: "analgesics", reference: aspirin, batchSize: 6 }; // 24 molecules
const libraries = example("use-cases/libraries");

interface Service {
  readonly url: string;
  /** The jobs that came to their turn. */
  readonly ran: readonly string[];
  /** The requests that came, such as "PUT". */
  readonly requests: readonly string[];
}

/** The job service on a port of this machine. */
async function serve(turn: (job: string) => Promise<void> = async () => undefined): Promise<Service> {
  const ran: string[] = [];
  const requests: string[] = [];
  const server = screeningService(async (job) => {
    ran.push(job);
    await turn(job);
  });
  server.on("request", ({ method }) => requests.push(method ?? ""));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, ran, requests };
}

const wait = "10m";

it("ranks a library, and scores no batch twice although its server dies twice", async () => {
  const { url, ran, requests } = await serve();
  await using t = await testTasks((tasks) => addDrugScreening(tasks, { service: url, libraries }));
  const started = t.crash({ before: "start" }); // a job runs, and nobody has heard of it
  const task = await t.start("screen_library", screening);
  await started;
  const screened = t.crash({ after: ["batch", 2] });
  await t.restart();
  await t.clock.advance(wait);
  await screened;
  await t.restart();
  await t.clock.advance(wait);

  const { structuredContent, content } = await task.result();
  expect(structuredContent).toMatchObject({ screened: 24, hits: { length: 3 } });
  expect(content).toEqual([
    {
      type: "text",
      text: expect.stringMatching(
        /^24 molecules screened, 3 hits: aspirin 1\.00, salicylic acid 0\.71, mefenamic acid 0\.34$/,
      ),
    },
  ]);
  expect(ran).toHaveLength(4);
  expect(new Set(ran).size).toBe(4);
  expect(requests.filter((method) => method === "PUT").length).toBeGreaterThan(4); // the service knew those again
  const parts = (await task.output()).map(({ content: part }) => (part as { text: string }).text);
  expect(new Set(parts.map((part) => part.split(":")[0]))).toEqual(new Set(["1–6", "7–12"]));
  expect(parts).toHaveLength(2);
});

it("shows the hits of batches while another one runs", async () => {
  const last = Promise.withResolvers<void>();
  const { url, ran } = await serve(() => (ran.length < 4 ? Promise.resolve() : last.promise));
  await using t = await testTasks((tasks) => addDrugScreening(tasks, { service: url, libraries }));
  const task = await t.start("screen_library", { ...screening, atLeast: 0 });
  await t.clock.advance("10s");
  expect(await task.output()).toHaveLength(3);
  expect((await task.handle.get()).statusMessage).toContain("3 of 4 batches are screened");
  last.resolve();
  await t.clock.advance(wait);
  expect((await task.result()).structuredContent).toMatchObject({ hits: { length: 24 } });
  expect(await task.output()).toHaveLength(4);
});

it.each(["goes on", "has been restarted"])(
  "ends its jobs where it is cancelled by a client whose server %s",
  async (server) => {
    const { url, ran } = await serve(() => new Promise(() => undefined));
    await using t = await testTasks((tasks) => addDrugScreening(tasks, { service: url, libraries }));
    const task = await t.start("screen_library", screening);
    await t.clock.advance("5s");
    expect(ran).toHaveLength(4);
    if (server !== "goes on") await t.restart();
    await task.cancel();
    await expect(task.result()).rejects.toMatchObject({ code: "cancelled" });
    await t.clock.advance(wait);
    const states = ran.map(async (job) => (await (await fetch(`${url}jobs/${job}`)).json()) as object);
    expect(await Promise.all(states)).toEqual(Array(4).fill({ state: "cancelled" }));
  },
);

it("says why a job failed, and starts it no second time", async () => {
  const { url, ran } = await serve();
  await using t = await testTasks((tasks) => addDrugScreening(tasks, { service: url, libraries }));
  const task = await t.start("screen_library", { ...screening, reference: "CCO", batchSize: 100 });
  await t.clock.advance(wait);
  const { isError, content } = await task.result();
  expect(isError).toBe(true);
  expect(content).toMatchObject([{ text: 'Tool "screen_batch" failed: CCO has fewer than 4 characters.' }]);
  expect(ran).toHaveLength(1);
});

it("waits for a service that does not answer for a while", async () => {
  const { url, ran } = await serve();
  let refusals = 3;
  const real = globalThis.fetch;
  globalThis.fetch = (...request) =>
    refusals-- > 0 ? Promise.reject(new TypeError("fetch failed")) : real(...request);
  onTestFinished(() => {
    globalThis.fetch = real;
  });
  await using t = await testTasks((tasks) => addDrugScreening(tasks, { service: url, libraries }));
  const task = await t.start("screen_library", { ...screening, batchSize: 100 });
  await t.clock.advance(wait);
  expect((await task.result()).isError).toBeUndefined();
  expect(ran).toHaveLength(1);
});

it("is the only tool of the two that clients see", async () => {
  await using t = await testTasks((tasks) =>
    addDrugScreening(tasks, { service: "http://127.0.0.1:1/", libraries }),
  );
  const { tools } = await t.client.sdk.listTools();
  expect(tools.map(({ name }) => name)).toContain("screen_library");
  expect(tools.map(({ name }) => name)).not.toContain("screen_batch");
});
