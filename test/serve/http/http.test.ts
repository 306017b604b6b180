import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { testTasks, type TestOptions } from "holdfast/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { http, type HttpOptions } from "../../../src/serve/http/http.ts";
import { serveTools } from "../../../src/serve/serve-tools.ts";

vi.setConfig({ testTimeout: 12_000 });

interface Seen {
  readonly line: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

type Answer = {
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  after?: Promise<void>;
};

/** A service that answers by its function, and what it was asked. */
async function service(answer: (seen: Seen, count: number) => Answer | "never") {
  const seen: Seen[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "", url = "", headers } = request;
    const sent = await text(request);
    const body: unknown = sent === "" ? undefined : JSON.parse(sent);
    const each = { line: `${method} ${url}`, headers, body };
    seen.push(each);
    const given = answer(each, seen.length);
    if (given === "never") return;
    await given.after;
    response.writeHead(given.status ?? 200, { "content-type": "application/json", ...given.headers });
    response.end(given.body === undefined ? "" : JSON.stringify(given.body));
  };
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { seen, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const inputSchema = { properties: { scene: { type: "string" }, size: { type: "integer" } } };

function serving(options: HttpOptions, tested: TestOptions = {}) {
  return testTasks(
    (tasks) => serveTools(tasks, [http("tool", { allow: ["127.0.0.1"], inputSchema, ...options })]),
    tested,
  );
}

/** Calls the tool, and lets time pass until it has ended. */
async function resultOf(options: HttpOptions, args: Record<string, unknown> = {}) {
  await using t = await serving(options);
  const task = await t.start("tool", args);
  const result = task.result();
  let isOver = false;
  void result.then(
    () => (isOver = true),
    () => (isOver = true),
  );
  while (!isOver) await t.clock.advance("1m");
  return await result;
}

describe("a request", () => {
  it("has the arguments of the call, encoded where they stand in an address and with their types in a body", async () => {
    const { seen, origin } = await service(() => ({ body: { id: 7 } }));
    const options = {
      method: "POST",
      url: `${origin}/scenes/{scene}`,
      query: { size: "{size}", no: "{none}" },
      body: { scene: "{scene}", size: "{size}", note: "about {scene}" },
      headers: { "X-Scene": "{scene}" },
      credentials: { bearer: "sesame" },
      inputSchema: { properties: { ...inputSchema.properties, none: { type: "string" } } },
    } as const;
    expect(await resultOf(options, { scene: "a/b ?c", size: 3 })).toMatchObject({
      structuredContent: { id: 7 },
    });
    expect(seen).toMatchObject([
      {
        line: "POST /scenes/a%2Fb%20%3Fc?size=3",
        body: { scene: "a/b ?c", size: 3, note: "about a/b ?c" },
        headers: {
          "x-scene": "a/b ?c",
          authorization: "Bearer sesame",
          "idempotency-key": expect.any(String),
        },
      },
    ]);
  });

  it.each(["..", ".", ""])(
    "goes to no other path of the service, whatever the values are: %j",
    async (value) => {
      const { origin, seen } = await service(() => ({ body: {} }));
      const url = `${origin}/users/{scene}/items/{scene}?at={scene}`;
      expect(await resultOf({ method: "DELETE", url }, { scene: value })).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/would lead to another address. Nothing was sent/) }],
      });
      expect(seen).toEqual([]);
      const fine = { url: `${origin}/a/../users/x{scene}?at={scene}` };
      await resultOf(fine, { scene: value });
      expect(seen).toMatchObject([{ line: `GET /users/x${value}?at=${value}` }]);
    },
  );

  it.each(["a\r\nevil: 1", "日本", "\ud800"])(
    "is not sent with a header that cannot be: %j",
    async (scene) => {
      const { origin, seen } = await service(() => ({ body: {} }));
      const headers = { "X-Scene": "{scene}" };
      for (const idempotencyHeader of ["Idempotency-Key", null])
        expect(
          await resultOf({ method: "POST", url: origin, headers, idempotencyHeader }, { scene }),
        ).toMatchObject({
          isError: true,
          content: [
            { text: expect.stringMatching(/"x-scene" has a character .* Nothing was sent|cannot be sent/) },
          ],
        });
      expect(seen).toEqual([]);
    },
  );

  it("has in its headers what they can have, and in its address no half of a character", async () => {
    const { origin, seen } = await service(() => ({ body: {} }));
    const options = {
      method: "POST",
      url: `${origin}/{scene}`,
      body: "x",
      headers: { "x-at": "é" },
    } as const;
    await resultOf(options, { scene: "a" });
    expect(seen).toMatchObject([{ headers: { "x-at": "é" } }]);
    const half = { content: [{ text: expect.stringMatching(/half of a character/) }] };
    expect(await resultOf(options, { scene: "\ud800" })).toMatchObject(half);
    expect(seen).toHaveLength(1);
  });

  it("is sent again after a passing failure, with the same key, and not if the service knows no key", async () => {
    const failing = await service((_, count) => (count === 1 ? { status: 502 } : { body: {} }));
    await resultOf({ method: "POST", url: failing.origin });
    const [first, second] = failing.seen.map(({ headers }) => headers["idempotency-key"]);
    expect(first).toBe(second);
    const once = await service(() => ({ status: 502, body: "down" }));
    const result = await resultOf({ method: "POST", url: once.origin, idempotencyHeader: null });
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/HTTP 502/) }] });
    expect(once.seen).toHaveLength(1);
  });

  it("that the service has refused for a while is sent when it says, also by the next server, and is not lost", async () => {
    const { seen, origin } = await service((_, count) =>
      count === 1 ? { status: 429, headers: { "retry-after": "3600" } } : { body: { id: 7 } },
    );
    await using t = await serving({ method: "POST", url: origin, idempotencyHeader: null, concurrency: 1 });
    const task = await t.start("tool");
    await vi.waitUntil(() => seen.length === 1, 8_000);
    await t.clock.advance("30m");
    await t.crash();
    await t.restart();
    await t.clock.advance("29m");
    expect(seen).toHaveLength(1);
    await t.clock.advance("2m");
    expect(await task.result()).toMatchObject({ structuredContent: { id: 7 } });
    expect(seen).toHaveLength(2);
  });

  it("whose refusal lasts longer than its task says what the service said, and one that is refused again and again ends", async () => {
    const long = await service(() => ({ status: 429, headers: { "retry-after": "999999999" } }));
    const once = { method: "POST", idempotencyHeader: null } as const;
    const refused = { isError: true, content: [{ text: expect.stringMatching(/HTTP 429/) }] };
    expect(await resultOf({ ...once, url: long.origin })).toMatchObject(refused);
    const busy = await service(() => ({ status: 429 }));
    expect(await resultOf({ ...once, url: busy.origin, retries: 2 })).toMatchObject(refused);
    expect([long.seen.length, busy.seen.length]).toEqual([1, 3]);
  });

  it("goes to no address that is not public, unless it is allowed, and to no host that a caller chooses", async () => {
    const { origin, seen } = await service(() => ({}));
    expect(await resultOf({ url: origin, allow: [] })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/127\.0\.0\.1 is not a public internet address.*allow/) }],
    });
    expect(seen).toEqual([]);
    expect(() => http("tool", { inputSchema, url: "https://{scene}/" })).toThrow(
      /a host without placeholders/,
    );
  });
});

describe("a job", () => {
  it("that is accepted with 202 is looked at where Location says, when Retry-After says", async () => {
    const { seen, origin } = await service(({ line }, count) => {
      if (line.startsWith("POST"))
        return { status: 202, headers: { location: "/jobs/1", "retry-after": "20" } };
      return count < 4 ? { status: 202 } : { body: { url: "done" } };
    });
    expect(await resultOf({ method: "POST", url: `${origin}/jobs` })).toMatchObject({
      structuredContent: { url: "done" },
    });
    expect(seen.map(({ line }) => line)).toEqual(["POST /jobs", "GET /jobs/1", "GET /jobs/1", "GET /jobs/1"]);
    expect(seen[0]?.headers["prefer"]).toBe("respond-async");
  });

  const followed = {
    method: "POST",
    poll: { url: "/jobs/{job/id}", every: "10s" },
    done: { pointer: "/state", in: ["done"] },
    failed: { pointer: "/state", in: ["failed"], message: "/why" },
    result: { url: "/jobs/{job/id}/result", pointer: "/data" },
  } as const;

  it("can be followed by what its answers say, and its result be elsewhere", async () => {
    const { origin } = await service(({ line }, count) => {
      if (line.startsWith("POST")) return { body: { id: 5 } };
      if (line.endsWith("/result")) return { body: { data: { rows: 3 } } };
      return { body: { state: count < 4 ? "running" : "done" } };
    });
    expect(await resultOf({ ...followed, url: `${origin}/jobs` })).toMatchObject({
      structuredContent: { rows: 3 },
    });
  });

  it.each(["0", "Thu, 01 Jan 1970 00:00:00 GMT"])(
    "is looked at in time if Retry-After says now: %s",
    async (now) => {
      const { origin, seen } = await service(({ line }, count) =>
        count < 4
          ? {
              status: 202,
              headers: { "retry-after": now, ...(line.startsWith("POST") && { location: "/jobs/1" }) },
            }
          : { body: { url: "done" } },
      );
      await using t = await serving({ method: "POST", url: `${origin}/jobs` });
      const task = await t.start("tool");
      await vi.waitUntil(() => seen.length === 1, 8_000);
      await t.clock.advance("500ms");
      expect(seen).toHaveLength(1);
      await t.clock.advance("3s");
      expect(await task.result()).toMatchObject({ structuredContent: { url: "done" } });
    },
  );

  it("is looked at once the date is over that Retry-After gives", async () => {
    let dated = "";
    const { origin, seen } = await service(({ line }) =>
      line.startsWith("POST")
        ? { status: 202, headers: { "retry-after": dated, location: "/jobs/1" } }
        : { body: { url: "done" } },
    );
    await using t = await serving({ method: "POST", url: `${origin}/jobs` });
    dated = new Date(Date.now() + 600_000).toUTCString();
    const task = await t.start("tool");
    await vi.waitUntil(() => seen.length === 1, 8_000);
    await t.clock.advance("9m");
    expect(seen).toHaveLength(1);
    await t.clock.advance("2m");
    expect(await task.result()).toMatchObject({ structuredContent: { url: "done" } });
  });

  it("that is read is asked for again while it is accepted without an address, and nothing else is", async () => {
    const { origin, seen } = await service((_, count) =>
      count < 3 ? { status: 202 } : { body: { commits: 7 } },
    );
    expect(await resultOf({ url: `${origin}/stats` })).toMatchObject({ structuredContent: { commits: 7 } });
    expect(seen.map(({ line }) => line)).toEqual(Array<string>(3).fill("GET /stats"));
    const other = await service(() => ({ status: 202, body: { queued: true } }));
    const accepted = { method: "POST", url: `${other.origin}/jobs` } as const;
    expect(await resultOf(accepted)).toMatchObject({ structuredContent: { queued: true } });
    expect(other.seen).toHaveLength(1);
  });

  it("that never ends fails when its task may run no longer", async () => {
    const { origin } = await service(({ line }) =>
      line.startsWith("POST") ? { body: { id: 5 } } : { body: { state: "running" } },
    );
    expect(await resultOf({ ...followed, url: `${origin}/jobs`, maxRunMs: "10m" })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^The work had not ended when \S+\/jobs\/5 was last asked/) }],
    });
  });

  it.each([
    [302, "/elsewhere"],
    [307, "https://storage.example.com/x?signature=SECRET"],
    [308, "/loop"],
    [304, undefined],
  ])("that is answered with HTTP %i to %s is not taken for done", async (status, location) => {
    const { origin, seen } = await service(() => ({ status, ...(location && { headers: { location } }) }));
    const result = await resultOf({ url: `${origin}/loop` });
    const to = location && new URL(location, origin);
    const how = to ? `, a redirect to ${to.origin}${to.pathname}, which is not followed.` : ".";
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: `${origin}/loop answered with HTTP ${status}${how}` }],
    });
    expect(seen).toHaveLength(1);
  });

  it("without an end shows nothing of the query, which may have keys in it", async () => {
    const { origin } = await service(({ line }) => ({
      status: 303,
      headers: { location: `${line.slice(4)}1` },
    }));
    const result = await resultOf({ url: `${origin}/hop?key=SECRET` });
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: `${origin}/hop answers with one address after another.` }],
    });
  });

  it.each([
    ["why", "no {paper}", "no {paper}"],
    ["why in half a character", "no \ud800", "no \ud800"],
    ["its state if not why", null, '{"state":"failed","why":null}'],
  ])("that fails says %s", async (_, why, said) => {
    const { origin } = await service(({ line }) =>
      line.startsWith("POST") ? { body: { id: 5 } } : { body: { state: "failed", why } },
    );
    expect(await resultOf({ ...followed, url: `${origin}/jobs` })).toMatchObject({
      isError: true,
      content: [{ text: `The job of tool has failed: ${said}` }],
    });
  });

  it("is cancelled with its task", async () => {
    const { origin, seen } = await service(({ line }) =>
      line.startsWith("POST") ? { body: { id: 5 } } : { body: { state: "running" } },
    );
    const cancel = { method: "DELETE", url: "/jobs/{job/id}" } as const;
    await using t = await serving({ ...followed, cancel, url: `${origin}/jobs` });
    const task = await t.start("tool");
    await vi.waitUntil(() => seen.length >= 2, 8_000);
    await task.cancel();
    await vi.waitUntil(() => seen.some(({ line }) => line === "DELETE /jobs/5"), 8_000);
  });

  it("goes on after a crash of the server without being begun again", async () => {
    const { origin, seen } = await service(({ line }, count) =>
      line.startsWith("POST")
        ? { body: { id: 5 } }
        : { body: { state: count < 5 ? "running" : "done", data: 1 } },
    );
    const { result: _, ...options } = followed;
    await using t = await serving({ ...options, url: `${origin}/jobs` });
    const task = await t.start("tool");
    await vi.waitUntil(() => seen.length >= 2, 8_000);
    await t.crash();
    await t.restart();
    await t.clock.advance("5m");
    expect(await task.result()).toMatchObject({ structuredContent: { state: "done" } });
    expect(seen.filter(({ line }) => line.startsWith("POST"))).toHaveLength(1);
  });

  it("can post its end before its start is answered", async () => {
    const answered = Promise.withResolvers<void>();
    const { origin, seen } = await service(({ line }) => {
      if (line.endsWith("/result")) return { body: { rows: 3 } };
      return line.startsWith("POST")
        ? { after: answered.promise, status: 201, body: { id: 5 } }
        : { body: { state: "running" } };
    });
    const { poll } = followed;
    const result = { url: "/jobs/{job/id}/result" };
    const options = { method: "POST", url: `${origin}/jobs`, callback: true, poll, result } as const;
    await using t = await serving(options, { eventsUrl: "https://tools.example.com/events" });
    const task = await t.start("tool");
    await vi.waitUntil(() => seen.length === 1, 8_000);
    await task.sendEvent("callback", { state: "done" });
    answered.resolve();
    expect(await task.result()).toMatchObject({ structuredContent: { rows: 3 } });
  });

  it("can post its end to an address of its own", async () => {
    const { origin, seen } = await service(() => ({ status: 201, body: { id: 5 } }));
    const options = { method: "POST", url: origin, callback: true, body: { notify: "{callback}" } } as const;
    await using t = await serving(
      { ...options, failed: { pointer: "/ok", in: [false] }, result: { pointer: "/data" } },
      { eventsUrl: "https://tools.example.com/events" },
    );
    const task = await t.start("tool");
    await vi.waitUntil(() => seen.length === 1, 8_000);
    expect(seen[0]?.body).toEqual({
      notify: expect.stringMatching(/^https:\/\/tools\.example\.com\/events\/\S+$/),
    });
    await task.sendEvent("callback", { ok: true, data: { pages: 2 } });
    expect(await task.result()).toMatchObject({ structuredContent: { pages: 2 } });
  });
});

it("says what a call would send, without its credentials", async () => {
  const source = http("tool", {
    inputSchema,
    method: "POST",
    url: "https://api.example.com/{scene}",
    body: { size: "{size}" },
    credentials: { bearer: "sesame" },
  });
  await using _ = await testTasks(async (tasks) => {
    const { tools } = await serveTools(tasks, [source]);
    expect(await tools[0]?.preview?.({ scene: "x y", size: 2 })).toBe(
      'POST https://api.example.com/x%20y\naccept: application/json, */*;q=0.5\ncontent-type: application/json\n\n{"size":2}',
    );
  });
});
