import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import { discover, head, initialize, RawConnection } from "../../kit/raw-connection.ts";
import { text } from "../../kit/messages.ts";
import { serve } from "../../kit/server.ts";
import { SessionClient } from "../../kit/session-client.ts";

const tools = (tasks: Tasks): void => void tasks.tool("bare", {}, () => text("bare"));
const get = (target: string, ...lines: string[]): string =>
  [`GET ${target} HTTP/1.1`, ...lines, "", ""].join("\r\n");
const chunked = head("Transfer-Encoding: chunked");

it.each<[string, string, number]>([
  ["a body that is longer than it says", head("Content-Length: 2") + "{}}}", 400],
  ["a negative length", head("Content-Length: -1"), 400],
  ["a length that is no number", head("Content-Length: ten"), 400],
  ["two lengths", head("Content-Length: 2", "Content-Length: 3") + "{}", 400],
  ["a length beside chunks", head("Content-Length: 2", "Transfer-Encoding: chunked") + "{}", 400],
  ["a chunk of no size", `${chunked}zz\r\n{}\r\n0\r\n\r\n`, 400],
  ["a chunk that is longer than it says", `${chunked}1\r\n{}\r\n0\r\n\r\n`, 400],
  ["a header that is too large", head(`X-Large: ${"x".repeat(20_000)}`), 431],
  ["too many headers", head(...Array.from({ length: 120 }, (_, n) => `X-${n}: 1`)), 431],
  ["a header without a name", head(": nothing"), 400],
  ["a header on two lines", head("X-Folded: a\r\n b"), 400],
  ["no host", get("/mcp"), 400],
  ["a host with a port that there is not", discover().replace("localhost", "localhost:99999"), 400],
  ["a host that is no address", discover().replace("localhost", "1.2.3.256"), 400],
  ["a host that is a path", get("/mcp", "Host: localhost/healthz?"), 400],
  ["a host with a password", get("/mcp", "Host: a:b@localhost"), 400],
  ["a target on another host", get("http://elsewhere/healthz", "Host: localhost"), 400],
  ["a host that is not that of the target", get("http://localhost/mcp", "Host: elsewhere"), 400],
  ["a target with a password", get("http://a:b@localhost/mcp", "Host: localhost"), 400],
  ["a target of another kind", get("ftp://localhost/mcp", "Host: localhost"), 400],
  ["two hosts", get("/mcp", "Host: localhost", "host: localhost"), 400],
  ["two tokens", discover("Authorization: Bearer a", "authorization: Bearer a"), 400],
  ["two origins", discover("Origin: http://localhost", "Origin: http://localhost"), 400],
  ["two types", discover("Content-Type: text/plain"), 400],
  ["two sessions", discover("Mcp-Session-Id: a", "Mcp-Session-Id: a"), 400],
  ["another protocol", "\u0016\u0003\u0001\u0002", 400],
  ["a method that the web forbids", "TRACE /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 400],
])("refuses %s, and goes on", async (_, sent, status) => {
  const { http, errors } = await serve({ tools });
  const raw = await RawConnection.to(http.port, sent);
  expect((await raw.statuses())[0]).toBe(status);
  expect(await (await RawConnection.to(http.port, discover())).statuses()).toEqual([200]);
  expect(errors).toEqual([]);
});

it("refuses what is no UTF-8 [B-042]", async () => {
  const { http, errors } = await serve({ tools });
  for (const version of ["2026-07-28", "2025-11-25"]) {
    const body = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"caf\u00e9"}', "latin1");
    const raw = await RawConnection.to(
      http.port,
      head(`MCP-Protocol-Version: ${version}`, `Content-Length: ${body.length}`),
    );
    raw.send(body);
    expect(await raw.statuses()).toEqual([400]);
    expect(raw.received).toContain("-32700");
  }
  expect(errors).toEqual([]);
});

it("takes characters that come in two pieces", async () => {
  const { http } = await serve({ tools });
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: "é", method: "ping", params: {} }));
  const cut = body.indexOf(0xc3) + 1;
  const raw = await RawConnection.to(
    http.port,
    head(`Content-Length: ${body.length}`, "Expect: 100-continue"),
  );
  await raw.statuses();
  raw.send(body.subarray(0, cut));
  await (await RawConnection.to(http.port, discover())).statuses();
  raw.send(body.subarray(cut));
  // No session: the refusal is the proof that it was understood.
  expect(await raw.statuses(2)).toEqual([100, 400]);
  expect(raw.received).toContain("Mcp-Session-Id header is required");
});

it.each([
  ["2025-11-25", initialize],
  ["2026-07-28", discover],
])("answers requests of %s in order that come in one piece", async (_, whole) => {
  const { http, errors } = await serve({ tools });
  const raw = await RawConnection.to(http.port, `${whole()}${get("/nowhere", "Host: localhost")}${whole()}`);
  expect(await raw.statuses(3)).toEqual([200, 404, 200]);
  expect(errors).toEqual([]);
});

it.each([
  ["2025-11-25", initialize],
  ["2026-07-28", discover],
])("refuses a body of %s that is too large, by what it says and by what it is", async (_, whole) => {
  const { http } = await serve({ tools, http: { maxRequestBodySize: 1_000 } });
  const said = await RawConnection.to(http.port, head("Content-Length: 1001"));
  expect(await said.statuses()).toEqual([413]);
  const [headers = "", body = ""] = whole("Transfer-Encoding: chunked").split("\r\n\r\n");
  const unsaid = headers.replace(/Content-Length: \d+\r\n/, "");
  const large = body + " ".repeat(1_001);
  const raw = await RawConnection.to(
    http.port,
    `${unsaid}\r\n\r\n${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`,
  );
  expect(await raw.statuses()).toEqual([413]);
  // What was left of it is thrown away, and the connection is good for the next request.
  raw.send(whole());
  expect(await raw.statuses(2)).toEqual([413, 200]);
});

it("hangs up on who sends hundreds of requests before the first is answered", async () => {
  const { http, errors } = await serve({ tools });
  const peer = await SessionClient.open(http.url);
  const stream = get(
    "/mcp",
    "Host: localhost",
    "Accept: text/event-stream",
    `Mcp-Session-Id: ${peer.sessionId}`,
  );
  const raw = await RawConnection.to(http.port, stream);
  expect(await raw.statuses()).toEqual([200]); // and has no end
  raw.send(discover().repeat(200));
  await raw.closed;
  expect(await peer.request("ping")).toMatchObject({ result: {} });
  const kept = await RawConnection.to(http.port);
  for (let sent = 1; sent <= 150; sent++) {
    kept.send(get("/healthz", "Host: localhost"));
    await kept.statuses(sent);
  }
  expect(await kept.statuses(150)).toHaveLength(150);
  expect(errors).toEqual([]);
});

it("closes connections beyond the limit", async () => {
  const { http } = await serve({ tools, http: { maxConnections: 2, keepAliveTimeoutMs: 60_000 } });
  const kept = [await RawConnection.to(http.port, discover()), await RawConnection.to(http.port, discover())];
  for (const raw of kept) expect(await raw.statuses()).toEqual([200]);
  const refused = await RawConnection.to(http.port, discover());
  await refused.closed;
  expect(refused.received).toBe("");
  kept[0]?.socket.destroy();
  await expect
    .poll(async () => (await RawConnection.to(http.port, discover())).statuses(), { timeout: 20_000 })
    .toEqual([200]);
});

it("takes a target in absolute form, as proxies may pass it on", async () => {
  const { http } = await serve({ tools });
  const absolute = discover().replace("POST /mcp", "POST http://localhost/mcp");
  expect(absolute).not.toBe(discover());
  const probes = ["http://localhost/healthz", "HTTP://LOCALHOST/healthz?x=/y"];
  for (const sent of [absolute, ...probes.map((target) => get(target, "Host: localhost"))]) {
    expect(await (await RawConnection.to(http.port, sent)).statuses()).toEqual([200]);
  }
});

it("refuses a body that is encoded, and says how to send it", async () => {
  const { http, errors } = await serve({ tools });
  for (const coding of ["gzip", "made-up", "identity, br"]) {
    const raw = await RawConnection.to(http.port, discover(`Content-Encoding: ${coding}`));
    expect(await raw.statuses()).toEqual([415]);
    expect(raw.received.toLowerCase()).toContain("accept-encoding: identity");
    expect(raw.received).toContain("Send the body without it.");
  }
  const plain = await RawConnection.to(http.port, discover("Content-Encoding: Identity"));
  expect(await plain.statuses()).toEqual([200]);
  expect(errors).toEqual([]);
});
