import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { findServer, type FindServices, type FoundServer } from "../../../src/cli/server/find-server.ts";
import { folder } from "../run-cli.ts";

const mcpServers = {
  local: {
    command: "node",
    args: ["server.js", "--key=${KEY}"],
    env: { LEVEL: "${LEVEL:-info}" },
    cwd: "sub",
  },
  remote: { type: "http", url: "https://${HOST}/mcp", headers: { Authorization: "Bearer ${env:KEY}" } },
  spaced: { url: "https://example.com/mcp" },
  old: { type: "sse", url: "https://example.com/sse" },
  neither: {},
  oddly: { command: "node", args: "server.js" },
};

/** A user who agrees to every folder. */
const trust = { has: async () => true, assert: async () => undefined };

const services = (env: FindServices["env"]): FindServices => ({ env, trust });

async function find(
  given: string,
  env: Record<string, string> = {},
  config: unknown = { mcpServers },
): Promise<FoundServer> {
  const cwd = await folder();
  await writeFile(join(cwd, ".mcp.json"), typeof config === "string" ? config : JSON.stringify(config));
  return findServer({ given, cwd }, services({ HOME: cwd, ...env }));
}

it.each([
  ["localhost:3000/mcp", "http://localhost:3000/mcp"],
  ["127.0.0.1:3000", "http://127.0.0.1:3000/mcp"],
  ["127.0.0.1:3000/", "http://127.0.0.1:3000/"],
  ["[::1]:3000/mcp", "http://[::1]:3000/mcp"],
  ["reports.example.com:8443/mcp?a=b", "https://reports.example.com:8443/mcp?a=b"],
  ["reports:80", "https://reports:80/mcp"],
])("takes the address %s without scheme for %s", async (given, url) => {
  const found = await find(given, {}, { mcpServers: {} });
  expect(found).toMatchObject({ spec: { given: url }, target: new URL(url).href });
  const inFolder = await find(given, {}, { mcpServers: { [given]: { url: "https://example.com/mcp" } } });
  expect(inFolder.target).toBe(new URL(url).href);
});

it.each([
  ["remtoe", [], /Did you mean "remote"\?/],
  ["reprots", ["reports", "https://example.com/mcp"], /Did you mean "reports"\?/],
  ["example", ["https://example.com/mcp"], /Did you mean https:\/\/example\.com\/mcp\?/],
  ["ex", ["https://example.com/mcp"], /which has .*"oddly"\. SERVER is/],
])("suggests what %s may mean beside %j", async (given, before, message) => {
  const cwd = await folder();
  await writeFile(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers }));
  await expect(
    findServer({ given, cwd }, { ...services({ HOME: cwd }), givenBefore: async () => before }),
  ).rejects.toThrow(message);
});

it.each(["htp://127.0.0.1:3000/mcp", "ws://localhost:3000/mcp"])(
  "starts no command for %s",
  async (given) => {
    const [scheme] = given.split("/");
    const message = `The URL of a server starts with http:// or https://, not with ${scheme}//`;
    await expect(find(given)).rejects.toMatchObject({ name: "UsageError", message });
  },
);

it("normalizes a URL", async () => {
  expect(await find("HTTP://127.0.0.1:80/mcp", {}, "no JSON")).toMatchObject({
    target: "http://127.0.0.1/mcp",
    name: "http://127.0.0.1/mcp",
  });
});

it.each([
  ["https://ann:s3cret@example.com/mcp", {}],
  ["https://s3cret@example.com/mcp", {}],
  ["remote", { HOST: "ann:s3cret@example.com", KEY: "k" }],
])(
  "refuses a URL with a password, and does not repeat it: %s",
  async (given, env: Record<string, string>) => {
    const refusal = await find(given, env).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ name: "UsageError" });
    expect(String(refusal)).toMatch(/contains a user name or password/);
    expect(String(refusal)).not.toContain("s3cret");
  },
);

it("splits a command line as a shell does, and starts it in this folder, with all variables but ours", async () => {
  const found = await find(`./run "a b" 'c "d"' e\\ f`, { DEBUG: "1", HOLDFAST_TOKEN: "s3cret" });
  expect(found.target).toMatchObject({
    command: "./run",
    args: ["a b", 'c "d"', "e f"],
    env: { DEBUG: "1" },
    cwd: found.spec.cwd,
  });
  expect(JSON.stringify(found)).not.toContain("s3cret");
  const paths = await find(String.raw`C:\node\node.exe srv\x.js "C:\a b\c" 'd\e' f\\g`);
  expect(paths.target).toMatchObject({
    command: String.raw`C:\node\node.exe`,
    args: [String.raw`srv\x.js`, String.raw`C:\a b\c`, String.raw`d\e`, String.raw`f\g`],
  });
  // After -- even one word is a command.
  expect((await find("stdio:local")).target).toMatchObject({ command: "local", args: [] });
});

it("expands variables in a config file, and keeps their values out of the name", async () => {
  const env = { KEY: "s3cret", HOST: "example.com" };
  const local = await find("local", env);
  expect(local.target).toEqual({
    command: "node",
    args: ["server.js", "--key=s3cret"],
    env: { LEVEL: "info" },
    cwd: join(local.spec.cwd, "sub"),
  });
  const remote = await find("remote", env);
  expect(remote).toMatchObject({
    target: "https://example.com/mcp",
    headers: { Authorization: "Bearer s3cret" },
  });
  for (const { name, spec } of [local, remote]) expect(JSON.stringify([name, spec])).not.toContain("s3cret");
  expect((await find("old")).target).toBe("https://example.com/sse");
});

it.each([
  ["nobody", { mcpServers }, /no server "nobody" in .*\.mcp\.json, which has "local", "remote"/],
  ["local", { mcpServers }, /server "local", needs the environment variable KEY/],
  ["neither", { mcpServers }, /server "neither": it needs either "command"/],
  ["oddly", { mcpServers }, /"args" must be a list of strings/],
  ["local", { server: {} }, /has no object "mcpServers"/],
  ["local", "{", /is not JSON: CloseBraceExpected in line 1/],
])("refuses %s with %j", async (given, config, message) => {
  await expect(find(given, {}, config)).rejects.toThrow(message);
});

it("reads the given config file, or that of the working directory, or the user's own", async () => {
  const home = await folder();
  const own = join(home, ".config", "holdfast");
  await mkdir(own, { recursive: true });
  await writeFile(
    join(own, "mcp.json"),
    JSON.stringify({ mcpServers: { mine: { url: "https://mine.example/" } } }),
  );
  const cwd = await folder();
  const env = services({ HOME: home });
  expect((await findServer({ given: "mine", cwd }, env)).target).toBe("https://mine.example/");
  await writeFile(
    join(cwd, "other.json"),
    JSON.stringify({ mcpServers: { mine: { url: "https://other.example/" } } }),
  );
  expect((await findServer({ given: "mine", cwd, config: "other.json" }, env)).target).toBe(
    "https://other.example/",
  );
  await expect(findServer({ given: "mine", cwd, config: "none.json" }, env)).rejects.toThrow(
    /no config file/,
  );
});

it("keeps our secrets from the server also where they are spelled otherwise, as Windows allows", async () => {
  const { target } = await find("./run it", {
    Holdfast_Token: "s3cret",
    holdfast_client_secret: "s3cret",
    OTHER: "1",
  });
  expect(JSON.stringify(target)).not.toContain("s3cret");
  expect(target).toMatchObject({ env: { OTHER: "1" } });
});

it("knows a folder of Windows by either case of its drive, and others by theirs", async () => {
  const nameIn = async (cwd: string): Promise<string> =>
    (await findServer({ given: "stdio:./run", cwd }, services({}))).name;
  expect(await nameIn("c:\\work")).toBe(await nameIn("C:\\work"));
  expect(await nameIn("/work")).not.toBe(await nameIn("/Work"));
});

it("reads a config file with a byte order mark, as editors of Windows write it", async () => {
  const text = `\ufeff${JSON.stringify({ mcpServers })}`;
  expect(await find("spaced", {}, text)).toMatchObject({ target: "https://example.com/mcp" });
});
