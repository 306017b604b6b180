import { execFile, spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { shells, type Shell } from "../../../src/cli/completion/scripts.ts";
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

  /** What a shell offers for the line. Shells complete at a prompt only; these ask their functions for the same. */
  const askers: Readonly<Record<Shell, readonly string[]>> = {
    // Bash sets these variables for a completion, where colons part words.
    bash: [
      "--norc",
      "-c",
      `eval "$(holdfast completion bash)"
      COMP_LINE="$1" COMP_POINT=\${#1}
      _holdfast holdfast
      for word in "\${COMPREPLY[@]}"; do printf '%s\\n' "$word"; done`,
      "bash",
    ],
    zsh: [
      "-f",
      "-c",
      `autoload -Uz compinit && compinit -D -u
      source <(holdfast completion zsh)
      compadd() { shift 2; print -rl -- "$@" }
      _files() { }
      words=("\${(@s: :)1}") CURRENT=\${#words}
      _holdfast`,
      "zsh",
    ],
    fish: ["--no-config", "-c", "holdfast completion fish | source; complete --do-complete $argv[1]"],
  };

  async function offered(
    shell: Shell,
    line: string,
    env: Readonly<Record<string, string>> = {},
  ): Promise<readonly string[]> {
    const place = await folder();
    const command = join(place, "holdfast");
    await writeFile(command, `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, { mode: 0o755 });
    const { stdout } = await run(shell, [...askers[shell], line], {
      cwd: place,
      env: { ...process.env, PATH: `${place}:${process.env["PATH"]}`, HOLDFAST_STATE: state, ...env },
    });
    return stdout.split("\n").slice(0, -1);
  }

  const isInstalled = (shell: Shell): boolean => spawnSync(shell, ["--version"]).error === undefined;

  it("completes commands, and what was used before", async (test) => {
    state = await folder();
    const env = { HOLDFAST_STATE: state };
    const { stdout } = await runMain(["call", url, "never_ends", "--detach"], { env });
    const id = stdout.trim();
    // No server is asked from here on.
    await server.stop("SIGKILL");
    for (const shell of shells) {
      if (!isInstalled(shell)) {
        await test.annotate(`${shell} is not installed`);
        continue;
      }
      expect(await offered(shell, "holdfast wat")).toEqual(["watch"]);
      // Bash replaces what is behind the last colon.
      const started = shell === "bash" ? url.slice(url.lastIndexOf(":") + 1) : url;
      expect(await offered(shell, `holdfast call ${url.slice(0, -5)}`)).toEqual([started]);
      expect(await offered(shell, `holdfast call ${url} slow`)).toEqual(["slow_compute"]);
      expect(await offered(shell, `holdfast result ${id.slice(0, 5)}`)).toEqual([id]);
      expect(await offered(shell, "holdfast result nothing")).toEqual([]);
    }
    expect(await offered("bash", "holdfast call ")).toEqual([url]);
  });

  it("offers names of a config file, escaped where a shell would take them apart", async () => {
    const config = join(await folder(), "mcp.json");
    const mcpServers = { "my server": { url }, "$(touch x)": { url } };
    await writeFile(config, JSON.stringify({ mcpServers }));
    state = await folder();
    expect(await offered("bash", "holdfast tools ", { HOLDFAST_CONFIG: config })).toEqual([
      "my\\ server",
      "\\$\\(touch\\ x\\)",
    ]);
  });

  it.each(shells)("prints a script for %s", async (shell) => {
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
