import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { expect, it, onTestFinished } from "vitest";
import { protectedBy } from "../client/auth/protected.ts";
import { example, newFolder, outerEnv } from "../docs/example-process.ts";

it("shows a program whose user logs in", async () => {
  const guide = await readFile(new URL("../../docs/learn/login.md", import.meta.url), "utf8");
  expect(guide).toContain(await readFile(example("guides/login.ts"), "utf8"));
  const { url } = await protectedBy();
  const program = spawn(process.execPath, [example("guides/login.ts"), url], {
    cwd: await newFolder(),
    env: outerEnv,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void program.kill("SIGKILL"));
  const lines = createInterface({ input: program.stdout });
  const [address] = (await once(lines, "line")) as [string];
  const listed = once(lines, "line");
  await (await fetch(address)).text();
  expect(await listed).toEqual(["shout waits"]);
  expect(await once(program, "exit")).toEqual([0, null]);
});
