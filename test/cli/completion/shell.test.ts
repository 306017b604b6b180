import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EverythingServer } from "../../conformance/everything-server.ts";
import { folder, program } from "../run-cli.ts";
import { runMain } from "../run-main.ts";

const run = promisify(execFile);

describe("holdfast completion", { timeout: 60_000 }, () => {
  let server: EverythingServer;
  let url: string;
  let state: string;
  beforeAll(async () => {
    server = new EverythingServer();
    url = await server.url;
  });
  afterAll(async () => void (await server.stop("SIGKILL")));

  /** What bash offers for the line, as it sets its variables for a completion: colons part words. */
  async function bash(line: string, env: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
    const place = await folder();
    const command = join(place, "holdfast");
    await writeFile(command, `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, { mode: 0o755 });
    const script = `
      eval "$(holdfast completion bash)"
      COMP_LINE="$1" COMP_POINT=\${#1}
      _holdfast holdfast
      for word in "\${COMPREPLY[@]}"; do printf '%s\\n' "$word"; done`;
    const { stdout } = await run("bash", ["--norc", "-c", script, "bash", line], {
      cwd: place,
      env: { ...process.env, PATH: `${place}:${process.env["PATH"]}`, HOLDFAST_STATE: state, ...env },
    });
    return stdout.split("\n").slice(0, -1);
  }

  it("completes commands, and what was used before, in bash", async () => {
    state = await folder();
    const env = { HOLDFAST_STATE: state };
    const { stdout } = await runMain(["call", url, "never_ends", "--detach"], { env });
    const id = stdout.trim();
    // No server is asked from here on.
    await server.stop("SIGKILL");
    expect(await bash("holdfast wat")).toEqual(["watch"]);
    expect(await bash("holdfast call ")).toEqual([url]);
    // Bash replaces what is behind the last colon.
    expect(await bash(`holdfast call ${url.slice(0, -5)}`)).toEqual([url.slice(url.lastIndexOf(":") + 1)]);
    expect(await bash(`holdfast call ${url} slow`)).toEqual(["slow_compute"]);
    expect(await bash(`holdfast result ${id.slice(0, 5)}`)).toEqual([id]);
    expect(await bash("holdfast result nothing")).toEqual([]);
  });

  it("offers names of a config file, escaped where a shell would take them apart", async () => {
    const config = join(await folder(), "mcp.json");
    const mcpServers = { "my server": { url }, "$(touch x)": { url } };
    await writeFile(config, JSON.stringify({ mcpServers }));
    state = await folder();
    expect(await bash("holdfast tools ", { HOLDFAST_CONFIG: config })).toEqual([
      "my\\ server",
      "\\$\\(touch\\ x\\)",
    ]);
  });

  it.each(["bash", "zsh", "fish"])("prints a script for %s", async (shell) => {
    const { code, stdout } = await runMain(["completion", shell]);
    expect(code).toBe(0);
    await expect(stdout).toMatchFileSnapshot(`script.${shell}`);
  });

  it("refuses other shells", async () => {
    const refused = await runMain(["completion", "tcsh"]);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("bash, zsh, fish");
  });
});
