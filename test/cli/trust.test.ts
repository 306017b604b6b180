import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder } from "./run-cli.ts";
import { listener, usersMachine } from "./users-machine.ts";

const entryOf = (url: string) => ({ url, headers: { "x-key": "${CLOUD_KEY}" } });

it("shows what a folder's entry would do, unexpanded, and says how to trust it", async () => {
  const machine = await usersMachine();
  const cwd = await machine.project({
    fresh: { command: "node", args: ["-e", "a\u200b b"], cwd: "sub", env: { KEY: "${CLOUD_KEY}" } },
    remote: entryOf("https://reports.example.com/mcp"),
  });
  const path = join(cwd, ".mcp.json");
  expect(await machine.run(["tools", "fresh"], cwd)).toEqual({
    code: 2,
    stdout: "",
    stderr: `holdfast: The server "fresh" in ${path} is not one that you trust.
  runs: node -e "a\\u{200b} b"
  in the folder: sub
  with: KEY=\${CLOUD_KEY}
  gets your variables: CLOUD_KEY
Nothing was started or sent. To trust it until it changes, use holdfast trust fresh in that folder; for one command, add --trust.
`,
  });
  const { stderr } = await machine.run(["tools", "remote"], cwd);
  expect(stderr).toContain(
    '  connects to: https://reports.example.com/mcp\n  sends: "x-key: ${CLOUD_KEY}"\n',
  );
  const { stdout } = await machine.run(["tools", "remote", "--json"], cwd);
  expect(JSON.parse(stdout)).toMatchObject({ error: { kind: "usage" }, exitCode: 2 });
});

it("trusts an entry for one command, or until it changes, or until that is revoked", async () => {
  const [server, other] = [await listener(), await listener()];
  const machine = await usersMachine();
  const cwd = await machine.project({ fresh: entryOf(server.url) });
  const reaches = async (...more: string[]): Promise<boolean> => {
    const before = server.seen.length;
    await machine.run(["tools", "fresh", ...more], cwd);
    return server.seen.length > before;
  };
  expect([await reaches("--trust"), await reaches()]).toEqual([true, false]);
  expect(await machine.run(["trust", "fresh"], cwd)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("gets your variables: CLOUD_KEY") as string,
  });
  expect(await reaches()).toBe(true);
  // It gets what it showed, and never the user's token.
  expect(server.seen.at(-1)).toMatchObject({ "x-key": "s3cret-key" });
  expect(server.seen.some(({ authorization }) => authorization !== undefined)).toBe(false);
  await writeFile(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: { fresh: entryOf(other.url) } }));
  const changed = await machine.run(["tools", "fresh"], cwd);
  expect(changed.stderr).toContain("has changed since you trusted it");
  expect(other.seen).toEqual([]);
  await writeFile(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: { fresh: entryOf(server.url) } }));
  expect(await reaches()).toBe(true);
  expect(await machine.run(["trust", "fresh", "--revoke", "--json"], cwd)).toMatchObject({
    code: 0,
    stdout: `${JSON.stringify({ name: "fresh", file: join(cwd, ".mcp.json"), trusted: false })}\n`,
  });
  expect(await reaches()).toBe(false);
});

it("trusts only what the folder names", async () => {
  const machine = await usersMachine();
  const cwd = await machine.project({ fresh: machine.command });
  expect(await machine.run(["trust", "fersh"], cwd)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no server "fersh"') as string,
  });
  expect(await machine.run(["trust", "fresh"], await folder())).toMatchObject({ code: 2 });
});

it("prefers an entry of the user's own to one that is not trusted, says so, and one that is trusted to it", async () => {
  const [folders, own] = [await listener(), await listener()];
  const machine = await usersMachine({ reports: { url: own.url } });
  const cwd = await machine.project({ reports: { url: folders.url } });
  const { stderr } = await machine.run(["tools", "reports"], cwd);
  expect(stderr).toContain('using your own "reports"; you have not trusted the one in');
  expect([own.seen.length > 0, folders.seen]).toEqual([true, []]);
  expect(own.seen[0]).toMatchObject({ authorization: "Bearer s3cret-token" });
  own.seen.splice(0);
  await machine.run(["trust", "reports"], cwd);
  await machine.run(["tools", "reports"], cwd);
  expect([own.seen, folders.seen.length > 0]).toEqual([[], true]);
});

it("takes a file that the user names for the user's word", async () => {
  const server = await listener();
  const machine = await usersMachine();
  const cwd = await machine.project({ fresh: { url: server.url } });
  await machine.run(["tools", "fresh", "--config", ".mcp.json"], cwd);
  await machine.run(["tools", "fresh"], cwd, { HOLDFAST_CONFIG: join(cwd, ".mcp.json") });
  expect(new Set(server.seen.map(({ authorization }) => authorization))).toEqual(
    new Set(["Bearer s3cret-token"]),
  );
});

it("sends the token to its origin also where a trusted entry of a folder names that", async () => {
  const [server, other] = [await listener(), await listener()];
  const machine = await usersMachine();
  const cwd = await machine.project({ fresh: { url: server.url }, other: { url: other.url } });
  const bound = { HOLDFAST_TOKEN_ORIGIN: new URL(server.url).origin };
  for (const name of ["fresh", "other"]) await machine.run(["tools", name, "--trust"], cwd, bound);
  expect(server.seen[0]).toMatchObject({ authorization: "Bearer s3cret-token" });
  expect(other.seen[0]?.authorization).toBe(undefined);
});
