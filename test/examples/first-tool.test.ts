import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished, vi } from "vitest";
import { newFolder, outerEnv } from "../docs/example-process.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const page = await readFile(join(root, "docs/learn/first-tool.md"), "utf8");
const blocks = [...page.matchAll(/^```(\w+)\n([^]*?)^```/gm)].map(([, language, block = ""]) => ({
  language,
  block,
}));
const commands = blocks.filter(({ language }) => language === "sh").map(({ block }) => block.trim());

/** What a reader runs in a terminal, in the folder of the page. */
function terminal(folder: string, command: string, env: NodeJS.ProcessEnv) {
  const child = spawn("/bin/sh", ["-c", `exec ${command}`], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  for (const input of [child.stdout, child.stderr])
    createInterface({ input }).on("line", (line) => lines.push(line));
  return {
    child,
    lines,
    exited: once(child, "exit"),
    line: (like: RegExp) => vi.waitUntil(() => lines.find((line) => like.test(line)), { timeout: 100_000 }),
  };
}

it("goes on where it was killed, and is answered later, as the first page for newcomers says", async () => {
  const [, start = "", call = "", again, ls = "", answer = "", result = "", admin = ""] = commands;
  expect(again).toBe(start);
  const folder = await newFolder();
  // What `npm install` of the package and of its peers leaves.
  await mkdir(join(folder, "node_modules/.bin"), { recursive: true });
  await mkdir(join(folder, "node_modules/@modelcontextprotocol"));
  await symlink(root, join(folder, "node_modules/holdfast"));
  const cli = `#!/bin/sh
exec "${process.execPath}" "${join(root, "dist/cli.js")}" "$@"
`;
  await writeFile(join(folder, "node_modules/.bin/holdfast"), cli, { mode: 0o755 });
  for (const name of ["@modelcontextprotocol/server", "zod"])
    await symlink(join(root, "node_modules", name), join(folder, "node_modules", name));
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await writeFile(join(folder, "server.ts"), blocks.find(({ language }) => language === "ts")?.block ?? "");
  const env = { ...outerEnv, PORT: "0", XDG_STATE_HOME: folder };

  const first = terminal(folder, start, env);
  const url = await first.line(/^http/);
  const caller = terminal(folder, call.replace("http://127.0.0.1:3000/mcp", url), env);
  await first.line(/rendering page 3/);
  first.child.kill("SIGINT");
  await first.exited;

  const second = terminal(folder, start, { ...env, PORT: new URL(url).port });
  await second.line(/rendering page 5/);
  expect(second.lines.filter((line) => line.startsWith("rendering"))).toEqual(
    [3, 4, 5].map((number) => `rendering page ${number}`),
  );
  expect(first.lines).toContain("rendering page 2");
  // Without a terminal, the call says how to answer, and waits.
  await caller.line(/Answer with/);
  caller.child.kill("SIGINT");
  await caller.exited;
  expect(caller.lines.join("\n")).toContain("The task continues.");

  const listed = terminal(folder, ls, env);
  await listed.exited;
  expect(listed.lines.join("\n")).toContain("input_required");
  await terminal(folder, answer, env).exited;
  const fetched = terminal(folder, result, env);
  await fetched.exited;
  const pages = [1, 2, 3, 4, 5].map((number) => `2026-10-${number}.pdf`).join(", ");
  expect(fetched.lines.join("\n")).toContain(`sent ${pages} to ann@example.com`);
  const seen = terminal(folder, admin, env);
  await seen.exited;
  expect(seen.lines.join("\n")).toMatch(/completed\s+report/);
});
