import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EverythingServer } from "../conformance/everything-server.ts";
import { folder } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

describe("holdfast tools SERVER TOOL", { timeout: 60_000 }, () => {
  let server: EverythingServer;
  let url: string;
  beforeAll(async () => {
    server = new EverythingServer();
    url = await server.url;
  });
  afterAll(async () => void (await server.stop("SIGKILL")));

  it("shows one tool whole, with a call that works as it stands", async () => {
    const env = { HOLDFAST_STATE: await folder() };
    const { code, stdout, stderr } = await runMain(["tools", url, "slow_compute"], { env, columns: 80 });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toBe(
      `slow_compute

Computes for a given number of seconds

- safe to call again, according to the server

Arguments:
  seconds=integer, required, at least 0, at most 3600
      How long to compute; 0: not at all
  label=string, required
      Comes back in the result

Example:
  holdfast call ${url} slow_compute seconds=0 label=...
`,
    );
    const words = /holdfast (.*)\n$/.exec(stdout)?.[1]?.split(" ") ?? [];
    expect(await runMain(words, { env })).toMatchObject({ code: 0, stdout: "...: computed for 0 s\n" });
  });

  it("says the same in JSON, and takes a server that is a command line", async () => {
    const env = { HOLDFAST_STATE: await folder(), HOLDFAST_STORE: "memory:" };
    const words = ["node", "test/everything/main.ts", "--stdio"];
    const { stdout } = await runMain(
      ["tools", "greet", "--json", "--pass-env", "HOLDFAST_STORE", "--", ...words],
      { env },
    );
    expect(JSON.parse(stdout)).toMatchObject({
      tools: [
        {
          name: "greet",
          example: `holdfast call greet name=Ada -- node test/everything/main.ts --stdio`,
        },
      ],
    });
  });

  it("leaves options behind -- to the server", async () => {
    const env = { HOLDFAST_STATE: await folder() };
    const { code, stdout } = await runMain(["tools", "--", "node", "test/cli/v2-server.ts", "--json"], {
      env,
    });
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: "join\n    words=list of string\n    times=integer?\n    loud=boolean?\ncolour\n",
    });
  });

  it("asks what was meant by another name", async () => {
    const env = { HOLDFAST_STATE: await folder() };
    const refused = await runMain(["tools", url, "slow-compute"], { env });
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toMatch(/no tool "slow-compute"\. Did you mean "slow_compute"\?/);
  });

  it("takes an address without scheme for a URL, and says so", async () => {
    const env = { HOLDFAST_STATE: await folder() };
    const { host, pathname } = new URL(url);
    const listed = await runMain(["tools", `${host}${pathname}`, "greet"], { env });
    expect(listed).toMatchObject({
      code: 0,
      stderr: `holdfast: ${host}${pathname} has no http:// or https://; using ${url}\n`,
    });
    expect(listed.stdout).toContain(`holdfast call ${url} greet`);
    // What was used before is known for suggestions.
    const unknown = await runMain(["tools", "127.0.0"], { env });
    expect(unknown.stderr).toContain(`Did you mean ${url}?`);
  });
});
