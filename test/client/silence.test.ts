import { expect, it, onTestFinished } from "vitest";
import { connectWith } from "../../src/client/connect.ts";
import { completed, created, sent } from "./answers.ts";
import { IdleTimeout } from "../../src/client/transport/request-with-timeout.ts";
import { FakeClock } from "./fake-clock.ts";
import { ScriptedServer } from "./scripted-server.ts";

/** The limit on a server that is asked for what is there. */
const limitMs = 30_000;

/** A client whose first `tasks/get` is answered in small parts; `beforePart` is called before each of them. */
async function setUpParts(beforePart: (clock: FakeClock, part: number) => Promise<boolean>) {
  const server = await ScriptedServer.start();
  onTestFinished(async () => server.stop());
  server.script("tools/call", created());
  server.script("tasks/get", completed(), completed());
  const clock = new FakeClock();
  const inParts = async (response: Response): Promise<Response> => {
    const bytes = new Uint8Array(await response.arrayBuffer());
    const size = Math.ceil(bytes.length / 10);
    let part = 0;
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      if (!(await beforePart(clock, part))) return;
      controller.enqueue(bytes.slice(part * size, (part + 1) * size));
      if (++part === 10) controller.close();
    };
    const body = new ReadableStream({ pull }, { highWaterMark: 0 });
    return new Response(body, { headers: response.headers });
  };
  let gets = 0;
  const client = await connectWith(
    server.url,
    {
      listen: false,
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        const isGet = typeof init?.body === "string" && init.body.includes('"tasks/get"');
        return isGet && ++gets === 1 ? inParts(response) : response;
      },
    },
    clock,
  );
  onTestFinished(async () => client.close());
  return { server, client, clock };
}

it("does not time out while a long result still arrives", async () => {
  const { server, client } = await setUpParts(async (clock) => {
    await clock.sleep(limitMs - 1_000, AbortSignal.timeout(limitMs));
    clock.passDeadlines();
    return true;
  });
  expect(await client.callTool("publish_report")).toEqual(sent);
  expect(server.of("tasks/get")).toHaveLength(1);
});

it("repeats the request if a result stops arriving", async () => {
  const { server, client, clock } = await setUpParts(async (own, part) => {
    if (part < 5) return true;
    await own.sleep(limitMs, AbortSignal.timeout(limitMs));
    own.passDeadlines();
    return false;
  });
  expect(await client.callTool("publish_report")).toEqual(sent);
  expect(server.of("tasks/get")).toHaveLength(2);
  expect(clock.armed).toBe(0);
});

it("gives an answer up that drips for an hour: it may be a page that something on the way keeps open", async () => {
  const clock = new FakeClock();
  const begun = clock.elapsed();
  const limit = new IdleTimeout(clock, limitMs);
  while (!limit.signal.aborted && clock.elapsed() < begun + 2 * 3_600_000) {
    await clock.sleep(limitMs - 1_000, AbortSignal.timeout(limitMs));
    limit.touch();
    clock.passDeadlines();
  }
  expect(clock.elapsed() - begun).toBeGreaterThanOrEqual(3_600_000);
  expect(clock.elapsed() - begun).toBeLessThan(3_600_000 + limitMs);
  expect(clock.armed).toBe(0);
});
