import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder } from "./run-cli.ts";
import { listener, usersMachine } from "./users-machine.ts";

it("adds servers to the user's own file, lists them with a folder's, and removes them", async () => {
  const machine = await usersMachine();
  const cwd = await machine.project({ fresh: { url: "https://fresh.example.com/mcp" }, broken: {} });
  const run = async (...args: string[]) => machine.run(["servers", ...args], cwd);
  const header = ["--header", "X-Key: ${KEY}"];
  expect(await run("add", "reports", "https://r.example.com/mcp?key=1", ...header)).toMatchObject({
    code: 0,
  });
  expect(await run("add", "files", "--env", "A=b=c", "--", "node", "a b.js")).toMatchObject({ code: 0 });
  const file = join(machine.home, "config", "holdfast", "mcp.json");
  expect(JSON.parse(await readFile(file, "utf8"))).toEqual({
    mcpServers: {
      reports: { url: "https://r.example.com/mcp?key=1", headers: { "X-Key": "${KEY}" } },
      files: { command: "node", args: ["a b.js"], cwd, env: { A: "b=c" } },
    },
  });
  const { servers } = JSON.parse((await run("--json")).stdout) as { servers: object[] };
  const own = { file, trusted: true };
  const theirs = { file: join(cwd, ".mcp.json"), trusted: false };
  expect(servers).toEqual([
    { name: "reports", server: "https://r.example.com/mcp?key=***", ...own },
    { name: "files", server: "node 'a b.js'", ...own },
    { name: "fresh", server: "https://fresh.example.com/mcp", ...theirs },
    { name: "broken", problem: expect.stringContaining("it needs either") as string, ...theirs },
  ]);
  expect(await run("add", "files", "node x.js")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("add --force") as string,
  });
  expect(await run("add", "files", "node x.js", "--force")).toMatchObject({ code: 0 });
  expect(await run("remove", "reports")).toMatchObject({ code: 0 });
  expect(await run("remove", "reports")).toMatchObject({ code: 2 });
  expect((await run()).stdout).toMatch(/^files\tnode x\.js\t/);
});

it.each([
  [["add", "a", "https://ann:pw@example.com/mcp"], "user name"],
  [["add", "a", "https://example.com", "--env", "A=b"], "--env is for"],
  [["add", "a", "node x", "--header", "A: b"], "--header is for"],
  [["add", "a", "node x", "--env", "A"], "NAME=value"],
  [["add", "a", ""], "Give a URL"],
])("refuses servers %j", async (args, message) => {
  const machine = await usersMachine();
  const run = await machine.run(["servers", ...args]);
  expect(run.code).toBe(2);
  expect(run.stderr).toContain(message);
});

it.each([
  ["", []],
  ["\uFEFF \n", []],
  ["{}", []],
  ['{ "mcpServers": {}, "servers": { "a": { "url": "https://a.example.com" } } }', ["a"]],
  ['{ "mcpServers": { "a": { "serverUrl": "https://a.example.com" } } }', ["a"]],
  ['{ "mcpServers": { "a": { "httpUrl": "https://a.example.com", "type": "streamable_http" } } }', ["a"]],
])("reads the servers of %j, and adds one", async (text, names) => {
  const machine = await usersMachine();
  const file = join(machine.home, "mcp.json");
  await writeFile(file, text);
  const listed = async (): Promise<object[]> => {
    const { stdout } = await machine.run(["servers", "--json", "--config", file]);
    return (JSON.parse(stdout) as { servers: object[] }).servers;
  };
  const server = (name: string): object => ({
    name,
    server: `https://${name}.example.com`,
    file,
    trusted: true,
  });
  expect(await listed()).toEqual(names.map(server));
  const added = await machine.run(["servers", "add", "b", "https://b.example.com", "--config", file]);
  expect(added).toMatchObject({ code: 0 });
  expect(await listed()).toEqual([...names, "b"].map(server));
});

it("leaves comments, other members and a link as they are", async () => {
  const machine = await usersMachine();
  const real = join(await folder(), "code.json");
  await writeFile(
    real,
    '{\n  // mine\n  "servers": { "a": { "url": "https://a.example.com" }, },\n  "inputs": []\n}\n',
  );
  const link = join(machine.home, "mcp.json");
  await symlink(real, link);
  const added = await machine.run(["servers", "add", "b", "https://b.example.com", "--config", link]);
  expect(added).toMatchObject({ code: 0 });
  const text = await readFile(real, "utf8");
  expect(text).toContain("// mine");
  expect(text).toContain('"inputs": []');
  expect(text).toContain('"https://b.example.com"');
  expect((await machine.run(["servers", "--config", link])).stdout).toMatch(/^a\t.*\nb\t/);
});

it("reads a folder's files of editors, with comments, and trusts them no more than its own", async () => {
  const server = await listener();
  const machine = await usersMachine();
  const cwd = await folder();
  await mkdir(join(cwd, ".vscode"));
  await mkdir(join(cwd, ".cursor"));
  const entry = { type: "http", url: server.url, headers: { where: "${workspaceFolder}" } };
  const asks = { url: server.url, headers: { key: "${input:api-key}" } };
  const file = join(cwd, ".vscode", "mcp.json");
  await writeFile(
    file,
    `{ /* ours */ "servers": { "code": ${JSON.stringify(entry)}, "asks": ${JSON.stringify(asks)}, } }`,
  );
  await writeFile(join(cwd, ".cursor", "mcp.json"), "no JSON");
  const refused = await machine.run(["tools", "code"], cwd);
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.stderr).toContain(`The server "code" in ${file} is not one that you trust`);
  expect(refused.stderr).not.toContain("gets your variables");
  expect(server.seen).toEqual([]);
  expect(await machine.run(["trust", "code"], cwd)).toMatchObject({ code: 0 });
  await machine.run(["tools", "code"], cwd);
  expect(server.seen[0]).toMatchObject({ where: cwd });
  const input = await machine.run(["tools", "asks", "--trust"], cwd);
  expect(input).toMatchObject({ code: 2 });
  expect(input.stderr).toContain("needs the input api-key, which only Visual Studio Code asks for");
});
