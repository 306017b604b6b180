import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { testTasks, type TestTasks } from "holdfast/testing";
import { expect, it, onTestFinished } from "vitest";
import { addResearch } from "../../examples/research/add-research.ts";

/** A service that answers ten questions in a minute, and says to all others when to come back. */
class Service {
  readonly answered: string[] = [];
  refused = 0;
  /** Questions that came although it had said when to come back. */
  early = 0;
  readonly #now: () => number;
  readonly #times: number[] = [];
  #backAt = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  async listen(): Promise<string> {
    const server = createServer((request, response) => {
      const now = this.#now();
      if (now < this.#backAt) this.early++;
      const [first = now, ...more] = this.#times.filter((at) => at > now - 60_000);
      if (more.length >= 9) {
        const seconds = Math.ceil((first + 60_000 - now) / 1_000);
        this.refused++;
        this.#backAt = now + seconds * 1_000;
        response.writeHead(429, { "Retry-After": String(seconds) }).end();
        return;
      }
      this.#times.push(now);
      const question = new URL(request.url ?? "", "http://service").searchParams.get("q") ?? "";
      this.answered.push(question);
      response.end(`about ${question}`);
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }
}

it("asks a service all that it takes, asks nothing while it is told to wait, and asks nothing again after a crash", async () => {
  const current: { t?: TestTasks } = {};
  const service = new Service(() => current.t?.clock.now() ?? 0);
  const url = await service.listen();
  await using t = await testTasks((tasks) => addResearch(tasks, url), {
    limits: { search: { concurrency: 1, perMinute: 100 } }, // more than the service takes
  });
  current.t = t;
  const questions = Array.from({ length: 25 }, (_, index) => `q${index}`);
  const task = await t.start("research", { questions });
  await t.clock.advance("90s");
  expect(service.answered).toHaveLength(20);
  await t.crash();
  await t.restart();
  await t.clock.advance("5m");
  const { content } = await task.result();
  expect(content).toEqual([{ type: "text", text: questions.map((each) => `about ${each}`).join("\n") }]);
  expect(service.answered.toSorted()).toEqual(questions.toSorted());
  expect([service.refused, service.early]).toEqual([2, 0]);
});
