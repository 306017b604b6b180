import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { fileHandles } from "../../../src/client/handles/file-handles.ts";
import { generation, server } from "./calls.ts";
import { folderForHandles } from "./folder.ts";

const program = fileURLToPath(new URL("writer-process.ts", import.meta.url));

function startWriter(file: string, name: string, count: number): ChildProcess {
  return spawn(process.execPath, [program, file, name, String(count)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

async function endOf(writer: ChildProcess): Promise<string> {
  const [said] = await Promise.all([writer.stdout === null ? "" : text(writer.stdout), once(writer, "exit")]);
  return writer.exitCode === 0 ? said : `${said}ended with ${writer.exitCode}\n`;
}

it("is safe for several processes at once, of which one is killed", { timeout: 120_000 }, async () => {
  const file = await folderForHandles();
  const store = fileHandles(file);
  const count = 20;
  const names = ["a", "b", "c"];
  const writers = names.map((name) => endOf(startWriter(file, name, count)));
  const victim = startWriter(file, "victim", 1_000_000);
  const killed = once(victim, "exit");
  const isThere = async (): Promise<boolean> =>
    (await store.list()).calls.some(({ key }) => key.startsWith("victim 3"));
  while (!(await isThere())) expect(victim.exitCode).toBeNull();
  victim.kill("SIGKILL");
  await killed;
  expect(await Promise.all(writers)).toEqual(names.map(() => ""));

  const { calls, damaged } = await store.list();
  expect(damaged).toEqual([]);
  const left = calls.filter(({ key }) => !key.startsWith("victim"));
  const expected = names.flatMap((name) =>
    Array.from({ length: count }, (_, index) => `${name} ${index} stays`),
  );
  // The victim may have left one of the calls that all of them make.
  expect(
    left
      .filter(({ key }) => !key.endsWith("of all"))
      .map(({ key }) => key)
      .toSorted(),
  ).toEqual(expected.toSorted());
  for (const { key, taskId } of left) {
    const answer = await store.answer({ server, generation, taskId: taskId ?? "" }, "approve");
    if (!key.endsWith("of all")) expect(answer).toEqual({ action: "accept", content: { by: key[0] } });
  }
});
