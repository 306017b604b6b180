import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { shown } from "./shown.ts";

const headersOf = ({ headers }: Response, ...names: string[]): unknown =>
  Object.fromEntries(names.map((name) => [name, headers.get(name)]));

it("keeps the page to itself: what it may load, who may frame it, and what is kept of it", async () => {
  const { browser, ended } = await shown();
  const id = await ended("ok");
  const always = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
  };
  const login = await browser.ask("/holdfast/");
  expect(headersOf(login, ...Object.keys(always))).toEqual(always);
  expect(login.headers.get("cache-control")).toBe("no-store");
  const policy = login.headers.get("content-security-policy") ?? "";
  expect(policy).toMatch(
    /^default-src 'none'; img-src data:; style-src 'sha256-[\w+/=]+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
  );
  await browser.logIn("token-of-ann");
  for (const path of ["/", "/tasks/x", "/session", "/api/counts", `/api/tasks/${id}`, "/none.txt"]) {
    const answer = await browser.ask(`/holdfast${path}`);
    expect(headersOf(answer, ...Object.keys(always))).toEqual(always);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
  }
});

it("serves one page at every address of its own, with no markup of anybody else", async () => {
  const { browser } = await shown();
  await browser.logIn("token-of-ann");
  const html = await (await browser.ask("/holdfast/")).text();
  expect(html).toContain('<meta name="base" content="/holdfast"');
  expect(html).toContain('src="/holdfast/app.js"');
  expect(html).toContain('href="/holdfast/app.css"');
  expect(html).not.toContain("%BASE%");
  expect(html).not.toMatch(/<style|style=|<script(?![^>]* src=)|https?:/);
  for (const path of [
    "/tasks/%3Cscript%3E",
    "/tools/my.tool",
    "/tools",
    "/nodes",
    "/refusals",
    "/actions",
    "/?text=<b>",
  ])
    expect(await (await browser.ask(`/holdfast${path}`)).text()).toBe(html);
  const moved = await browser.ask("/holdfast?state=failed");
  expect([moved.status, moved.headers.get("location")]).toEqual([302, "/holdfast/?state=failed"]);
  const head = await browser.ask("/holdfast/", { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
  for (const path of ["/favicon.ico", "/app.js.map", "/index.html", "/..%2f..%2fpackage.json"]) {
    const answer = await browser.ask(`/holdfast${path}`);
    expect([path, answer.status]).toEqual([path, 404]);
  }
});

it("sends script and style once, small, and again where they have changed", async () => {
  const { browser } = await shown();
  await browser.logIn("token-of-ann");
  let bytes = 0;
  for (const [name, type] of [
    ["app.js", "text/javascript; charset=utf-8"],
    ["app.css", "text/css; charset=utf-8"],
  ]) {
    const path = `/holdfast/${name}`;
    const plain = await browser.ask(path, { headers: { "Accept-Encoding": "identity" } });
    expect(headersOf(plain, "content-type", "cache-control", "content-encoding", "vary")).toEqual({
      "content-type": type,
      "cache-control": "private, no-cache",
      "content-encoding": null,
      vary: "Accept-Encoding",
    });
    const zipped = await browser.ask(path, { headers: { "Accept-Encoding": "br, gzip" } });
    expect(zipped.headers.get("content-encoding")).toBe("gzip");
    // The platform has unzipped it.
    expect(await zipped.text()).toBe(await plain.text());
    const etag = zipped.headers.get("etag") ?? "";
    const again = await browser.ask(path, { headers: { "If-None-Match": etag } });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    expect((await browser.ask(path, { headers: { "If-None-Match": 'W/"other"' } })).status).toBe(200);
    const refused = await browser.ask(path, { headers: { "Accept-Encoding": "gzip;q=0" } });
    expect(refused.headers.get("content-encoding")).toBeNull();
    const { bytes: sent } = await sentBytes(browser.cookies, plain.url);
    bytes += sent;
  }
  bytes += Buffer.byteLength(await (await browser.ask("/holdfast/")).text());
  expect(bytes).toBeLessThan(150 * 1024);
});

/** What goes over the wire, which `fetch` does not tell. */
async function sentBytes(cookies: ReadonlyMap<string, string>, url: string): Promise<{ bytes: number }> {
  const { get } = await import("node:http");
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  return new Promise((resolve, reject) => {
    get(url, { headers: { "Accept-Encoding": "gzip", Cookie: cookie } }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const all = Buffer.concat(chunks);
        expect(gunzipSync(all).length).toBeGreaterThan(0);
        resolve({ bytes: all.length });
      });
    }).on("error", reject);
  });
}

it("serves the licences of what is in its script, with it", async () => {
  const { browser } = await shown();
  await browser.logIn("token-of-ann");
  const script = await (await browser.ask("/holdfast/app.js")).text();
  const notices = /^\/\*!\n([^]*?)\*\//.exec(script)?.[1] ?? "";
  expect(notices).toMatch(/^preact [\d.]+ \(MIT\)\n\n[^]*Copyright \(c\)/m);
  expect(notices).toMatch(/^eventsource-parser [\d.]+ \(MIT\)$/m);
});
