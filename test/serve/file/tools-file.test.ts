import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { connect } from "holdfast/client";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { listen } from "../../../src/server/http/listen.ts";
import { toolsFileSchema } from "../../../src/serve/file/schema.ts";
import { serveFile, toolsFileAt } from "../../../src/serve/file/serve-file.ts";
import type { ToolSource } from "../../../src/serve/source.ts";
import { freePort } from "../../postgres/free-port.ts";

let folder: string;
let path: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-file-"));
  path = join(folder, "tools.yaml");
  vi.stubEnv("XDG_STATE_HOME", folder);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

async function problemsOf(text: string, env = {}): Promise<string> {
  await writeFile(path, text);
  try {
    toolsFileAt(path, env).load();
  } catch (error) {
    return (error as Error).message.replaceAll(path, "");
  }
  return "";
}

describe("what is wrong with a file", () => {
  it.each([
    ["name: [a", /^:1:9: Flow sequence/],
    ["tools:\n  a:\n    comand: [ls]\n", /^:3:5: tools.a has no "comand". Did you mean command\?/],
    [
      "tools:\n  a:\n    command:\n      run: [ls]\n      timoutMs: 5s\n",
      /^:5:7: tools.a.command has no "timoutMs". Did you mean timeoutMs\?/,
    ],
    [
      "tools:\n  a:\n    command:\n      run: [ls]\n      timeoutMs: 5 s\n",
      /^:5:7: tools.a.command.timeoutMs must be a length of time, such as 90s/,
    ],
    [
      'tools:\n  a: { command: [ls, "{fil}"], inputSchema: { properties: { file: {} } } }\n',
      /^:2:\d+: Tool "a": \{fil\} names no argument. Did you mean file\?/,
    ],
    ["tools:\n  a: { description: x }\n", /^:2:\d+: Tool "a" needs command or http/],
    ["mcp:\n  a: { comand: x }\n", /^:2:8: mcp.a has no "comand". Did you mean command\?/],
    ["mcp:\n  a: { command: x, durable: 3 }\n", /^:2:20: mcp a.*durable/],
    [
      "mcp:\n  a: { command: x, tools: { drop: { asksFirst: true, approval: { by: operator } } } }\n",
      /^:2:\d+: mcp a: tools.drop: asksFirst begins the call before its approval/,
    ],
    [
      "tools:\n  a: { command: [ls], approval: { by: user, link: { notify: https://x.example/ } } }\n",
      /^:2:\d+: The approval of tool "a": a link is for operators/,
    ],
    [
      "publicUrl: https://x.example\nmcp:\n  a: { command: x, tools: { drop: { approval: { by: operator, link: { notify: x } } } } }\n",
      /^:3:\d+: The approval of tool "drop": notify must be an address of http or https, not "x"/,
    ],
    [
      "openapi:\n  a: { document: x, operations: { drop: { approval: { by: operator, link: { notify: https://x.example/ } } } } }\n",
      /^:2:\d+: The approval of tool "drop": a link leads to this server.*Set publicUrl/,
    ],
    ['dashboard: { token: "${env:TOKEN}" }\n', /^:1:21: The variable TOKEN is not set.$/],
    ['dashboard: { token: "${file:token}" }\n', /The file token cannot be read/],
  ])("is said with its place: %j", async (text, said) => {
    expect(await problemsOf(text)).toMatch(said);
  });

  it("is nothing in one with all kinds of tools", async () => {
    const text = [
      "tools:",
      "  render:",
      "    inputSchema: { properties: { scene: { type: string } } }",
      "    http:",
      "      method: POST",
      "      url: https://api.example.com/renders",
      '      body: { scene: "{scene}", notify: "{callback}" }',
      "      callback: true",
      '      poll: { url: "/renders/{job/id}", every: 10s }',
      "      done: { pointer: /state, in: [done] }",
      '      credentials: { bearer: "${env:TOKEN}" }',
      "    approval: { by: user }",
      "mcp: { search: { url: https://search.example.com/mcp } }",
      "openapi: { shop: { document: shop.yaml, credentials: { key: x } } }",
    ];
    expect(await problemsOf(text.join("\n"), { TOKEN: "t" })).toBe("");
    expect(await problemsOf(text.join("\n").replace('{scene}"', '{scen}"'), { TOKEN: "t" })).toMatch(
      /\{scen\} names no argument. Did you mean scene\?/,
    );
  });

  it("is nothing in the one that holdfast serve --init writes", async () => {
    expect(await problemsOf(await readFile("templates/tools.yaml", "utf8"))).toBe("");
  });
});

it("puts in values of variables and files, in which nothing is a placeholder", async () => {
  await writeFile(join(folder, "secret"), "a{file}b\n");
  await writeFile(
    path,
    'name: ${env:NAME}\ntools:\n  a:\n    command: [echo, "${file:secret}", "{file}"]\n    inputSchema: { properties: { file: { type: string } } }\n',
  );
  const { file, sources } = toolsFileAt(path, { NAME: "mine" }).load();
  expect(file.name).toBe("mine");
  const found: unknown[] = [];
  await sources[0]?.open({
    onError: () => undefined,
    setTools: ([tool]) => void found.push(tool?.preview?.({ file: "x" })),
  });
  expect(found[0]).toMatch(/^echo a\{file\}b x/);
});

it("leaves a secret as it is where there are no placeholders", async () => {
  const text = (secret: string): string =>
    `tools:\n  a:\n    description: "${secret}"\n    http:\n      url: https://api.example.com\n      credentials: { bearer: "${secret}", headers: { x: "${secret}" } }\n      body: { credentials: "${secret}" }\n`;
  await writeFile(path, text("${env:SECRET}"));
  const { tools = {} } = toolsFileAt(path, { SECRET: "p{abc}q" }).load().file;
  expect(tools["a"]).toMatchObject({
    description: "p{abc}q",
    http: {
      credentials: { bearer: "p{abc}q", headers: { x: "p{abc}q" } },
      body: { credentials: "p{{abc}}q" },
    },
  });
});

it("has a JSON Schema for editors, with a description of what is in it", () => {
  const { properties, additionalProperties } = toolsFileSchema() as {
    properties: Record<string, { description?: string }>;
    additionalProperties: boolean;
  };
  expect(additionalProperties).toBe(false);
  expect(properties["tools"]?.description).toBe("Tools, by their names");
});

describe("a file that is served", () => {
  const serving = (tools: string): string =>
    `store: "memory:"\nlisten: 127.0.0.1:0\nauth: { tokens: { ann: sesame } }\ntools:\n${tools}`;

  it("starts nothing that lasts if its port is taken", async () => {
    const taken = createServer();
    await new Promise<void>((done) => taken.listen(0, "127.0.0.1", done));
    const { port } = taken.address() as AddressInfo;
    let isOpen = false;
    const source: ToolSource = {
      name: "program",
      async open() {
        isOpen = true;
        return { close: async () => void (isOpen = false) };
      },
    };
    const place = { path, isFile: false, load: () => ({ file: { store: "memory:" }, sources: [source] }) };
    await expect(serveFile(place, { env: {}, port, note: () => undefined })).rejects.toMatchObject({
      code: "address_in_use",
    });
    expect(isOpen).toBe(false);
    await new Promise((done) => taken.close(done));
  });

  it("says in a line that a server is away, and why", async () => {
    const url = `http://127.0.0.1:${await freePort()}/mcp`;
    await writeFile(
      path,
      `${serving("  one: { command: [echo, one] }\n")}mcp: { late: { url: "${url}" } }\n`,
    );
    const notes: string[] = [];
    const server = await serveFile(toolsFileAt(path, {}), { env: {}, note: (line) => notes.push(line) });
    await server.close();
    expect(notes[0]).toMatch(
      /^The server late cannot be reached, and is tried again\. .*ECONNREFUSED 127\.0\.0\.1:\d+.*$/,
    );
  });

  it("keeps open what was served before a change that could not be", async () => {
    const [one, two] = ["  one: { command: [echo, one] }\n", "  two: { command: [echo, two] }\n"];
    const place = toolsFileAt(path, {});
    const loaded = async (tools: string) => {
      await writeFile(path, serving(tools));
      return place.load();
    };
    const served = await loaded(one);
    served.onServed?.();
    await loaded(two);
    expect((await loaded(one)).sources[0]).toBe(served.sources[0]);
  });

  it("has its tools for callers that it knows, and follows changes, unless they are wrong", async () => {
    await writeFile(path, serving("  one: { command: [echo, one] }\n"));
    const notes: string[] = [];
    const server = await serveFile(toolsFileAt(path, {}), { env: {}, note: (line) => notes.push(line) });
    const url = new URL(server.url ?? "");
    await expect(connect(url)).rejects.toMatchObject({ code: "unauthorized" });
    const client = await connect(url, { token: "sesame" });
    try {
      const names = async () => (await client.sdk.listTools()).tools.map(({ name }) => name);
      expect(await client.callTool("one", {})).toMatchObject({ content: [{ text: "one" }] });
      await writeFile(path, serving("  two: { command: [echo, two] }\n"));
      await vi.waitUntil(() => notes.length === 1, 10_000);
      expect(await names()).toContain("two");
      await writeFile(path, serving("  two: { comand: [echo, two] }\n"));
      await vi.waitUntil(() => notes.length === 2, 10_000);
      expect(notes[1]).toMatch(/:5:\d+: tools.two has no "comand".*\nThe previous tools stay in use\.$/s);
      expect(await client.callTool("two", {})).toMatchObject({ content: [{ text: "two" }] });
    } finally {
      await client.close();
      await server.close();
    }
  });

  it("has a call approved by a link that it sends, once, and opening the link decides nothing", async () => {
    const sent: string[] = [];
    const mail = createHttpServer((request, response) => {
      void textOf(request).then((body) => sent.push(body));
      response.writeHead(202).end();
    });
    const mailPort = await listen(mail, "127.0.0.1", 0);
    const free = createHttpServer();
    const port = await listen(free, "127.0.0.1", 0);
    await new Promise((done) => free.close(done));
    const link = `{ notify: "http://127.0.0.1:${mailPort}/", allow: [127.0.0.1] }`;
    await writeFile(
      path,
      `store: "memory:"\nlisten: 127.0.0.1:${port}\npublicUrl: http://127.0.0.1:${port}\nauth: { anonymous: shared }\ntools:\n  say:\n    command: [echo, said]\n    approval: { by: operator, message: "Say <it>?", link: ${link} }\n`,
    );
    const server = await serveFile(toolsFileAt(path, {}), { env: {}, note: () => undefined });
    const client = await connect(new URL(server.url ?? ""));
    try {
      const called = async (approve: boolean): Promise<unknown> => {
        const result = client.callTool("say", {});
        await vi.waitUntil(() => sent.length > 0, 10_000);
        const message = JSON.parse(sent.pop() ?? "") as { link: string; message: string; expiresAt: string };
        expect(message).toMatchObject({ tool: "say", message: "Say <it>?" });
        expect(Date.parse(message.expiresAt)).toBeGreaterThan(Date.now());
        const page = await fetch(message.link);
        expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
        expect(await page.text()).toContain("Say &lt;it&gt;?");
        expect(await fetch(message.link, { method: "POST" })).toMatchObject({ status: 405 });
        const forged = message.link.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
        expect(await fetch(`${forged}x?approve=true`, { method: "POST" })).toMatchObject({ status: 404 });
        expect(await fetch(`${message.link}?approve=${approve}`, { method: "POST" })).toMatchObject({
          status: 200,
        });
        const end = await result;
        const again = await fetch(`${message.link}?approve=${!approve}`, { method: "POST" });
        expect(again.status).toBe(410);
        expect(await again.text()).toContain(
          `This was ${approve ? "approved" : "declined"} before, and that counts`,
        );
        expect(await fetch(message.link)).toMatchObject({ status: 410 });
        return end;
      };
      expect(await called(true)).toMatchObject({ content: [{ text: "said" }] });
      expect(await called(false)).toMatchObject({
        isError: true,
        content: [{ text: "say was not called: the operator did not approve it." }],
      });
    } finally {
      await client.close();
      await server.close();
      mail.close();
    }
  });
});
