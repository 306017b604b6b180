import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { fileHandles } from "../../src/client/handles/file-handles.ts";
import { KnownServers, Records } from "../../src/cli/state/records.ts";
import { folder, type Run } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

/** A server that lets nobody in, or sends all who come elsewhere, and the headers that it was sent. */
async function authorizingServer(redirect?: string) {
  const sent: IncomingHttpHeaders[] = [];
  const http = createServer(({ headers }, response) => {
    sent.push(headers);
    if (redirect === undefined) response.writeHead(401).end();
    else response.writeHead(307, { location: redirect }).end();
  }).listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(() => void http.close());
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  /** What came since the last time, without what repeats. */
  const secrets = (): readonly (string | undefined)[] => {
    const all = sent.splice(0).map(({ authorization, "x-key": key }) => authorization ?? key?.toString());
    return [...new Set(all)];
  };
  return { origin, url: `${origin}/mcp`, secrets };
}

describe("a token and headers", { timeout: 60_000 }, () => {
  /** Two servers, with a task on each. */
  async function twoServers() {
    const [one, other] = [await authorizingServer(), await authorizingServer()];
    const state = await folder();
    const store = fileHandles(join(state, "state.db"));
    const servers = new KnownServers(new Records(join(state, "state.db")));
    for (const { url } of [one, other]) servers.keep({ name: url, spec: { given: url, cwd: state } });
    for (const [taskId, { url: server }] of Object.entries({ t1: one, t2: other })) {
      const call = { server, generation: "2026-07-28", tool: "tool", args: {}, startedAt: 1 };
      await store.keep({ ...call, key: taskId, taskId });
    }
    const run = async (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Run> =>
      runMain(args, { env: { HOLDFAST_STATE: state, ...env } });
    return { one, other, run, state };
  }

  it("go only to the server of the named task", async () => {
    const { one, other, run } = await twoServers();
    const env = { HOLDFAST_TOKEN: "s3cret" };
    const listed = await run(["ls", "--refresh", "--json"], env);
    expect(JSON.parse(listed.stdout)).toMatchObject({
      tasks: [{ status: "unauthorized" }, { status: "unauthorized" }],
    });
    expect([one.secrets(), other.secrets()]).toEqual([[undefined], [undefined]]);
    expect(await run(["get", "t1"], env)).toMatchObject({ code: 6 });
    expect([one.secrets(), other.secrets()]).toEqual([["Bearer s3cret"], []]);
  });

  it("of the environment do not go to an address that only a task's reference names, which may be a folder's", async () => {
    const { one, run, state } = await twoServers();
    new Records(join(state, "state.db")).remove("server", one.url);
    expect(await run(["get", "t1"], { HOLDFAST_TOKEN: "s3cret" })).toMatchObject({ code: 6 });
    expect(one.secrets()).toEqual([undefined]);
    await run(["get", "t1", "--server", one.url], { HOLDFAST_TOKEN: "s3cret" });
    expect(one.secrets()).toEqual(["Bearer s3cret"]);
  });

  it("need --server with ls", async () => {
    const { one, other, run } = await twoServers();
    for (const option of [
      ["--token", "s3cret"],
      ["--header", "X-Key: s3cret"],
    ]) {
      const refused = await run(["ls", "--refresh", ...option]);
      expect(refused).toMatchObject({ code: 2, stdout: "" });
      expect(refused.stderr).toContain("--server");
      expect([one.secrets(), other.secrets()]).toEqual([[], []]);
      const listed = await run(["ls", "--refresh", "--server", other.url, ...option]);
      expect(listed.stdout).toMatch(/^t2\t.*\tunauthorized\n$/);
      expect([one.secrets(), other.secrets()]).toEqual([
        [],
        [option[0] === "--token" ? "Bearer s3cret" : "s3cret"],
      ]);
    }
  });

  it("of the environment go only to the origin that they are bound to", async () => {
    const { one, other, run } = await twoServers();
    const env = { HOLDFAST_TOKEN: "s3cret", HOLDFAST_TOKEN_ORIGIN: other.origin };
    await run(["ls", "--refresh"], env);
    await run(["tools", one.url], env);
    await run(["get", "t1"], env);
    expect([one.secrets(), other.secrets()]).toEqual([[undefined], ["Bearer s3cret"]]);
    expect(await run(["tools", one.url], { ...env, HOLDFAST_TOKEN_ORIGIN: "reports" })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("HOLDFAST_TOKEN_ORIGIN must be an origin") as string,
    });
  });

  it("of the environment do not go to a server with its own in the config file", async () => {
    const { one, run } = await twoServers();
    const config = join(await folder(), "mcp.json");
    const named = { url: one.url, headers: { authorization: "Bearer own" } };
    await writeFile(config, JSON.stringify({ mcpServers: { named } }));
    await run(["tools", "named", "--config", config], { HOLDFAST_TOKEN: "s3cret" });
    expect(one.secrets()).toEqual(["Bearer own"]);
  });

  it("do not follow a redirect to another origin", async () => {
    const { one } = await twoServers();
    const { url, secrets } = await authorizingServer(one.url);
    const refused = await runMain(["tools", url, "--token", "s3cret", "--header", "X-Key: s3cret"]);
    expect(refused).toMatchObject({ code: 6, stdout: "" });
    expect(refused.stderr).toContain(one.url);
    expect([secrets(), one.secrets()]).toEqual([["Bearer s3cret"], []]);
  });
});
