import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { ExecError, type ExecOptions } from "../../src/runtime/exec/exec-options.ts";
import { adminOf } from "../admin/operator.ts";
import { bodyOf, nobody, Process, text, type Handler } from "./harness.ts";
import type { BeforeCall } from "./watched-store.ts";

vi.setConfig({ testTimeout: 120_000 }); // with real processes, on a busy machine
const patient = { timeout: 60_000, interval: 20 };
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-exec-artifacts-"));
});
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

const kept: ExecOptions = { artifacts: { stdout: "out.log", stderr: "err.log" }, maxOutputBytes: 10 };

/** A tool that runs this shell script, and returns links to its whole output. */
const sh =
  (script: string, options: ExecOptions = kept): Handler =>
  async (_, task) => {
    try {
      const { links, exitCode } = await task.exec("work", "/bin/sh", ["-c", script], options);
      return { ...text(`exit ${exitCode}`), content: [...text(`exit ${exitCode}`).content, ...links] };
    } catch (error) {
      if (!(error instanceof ExecError)) throw error;
      return { isError: true, content: [{ type: "text", text: error.message }, ...error.links] };
    }
  };

const setupOf = (tool: Handler, before?: BeforeCall) => ({
  tools: { tool: { config: { onCrash: "resume" as const }, handler: tool } },
  options: { execFolder: join(folder, "exec"), crashBackoffMs: 0 },
  ...(before && { before }),
});

/** What the result of a task says, the names that it links to, and what they have. */
async function endOf(process: Process, id: string): Promise<unknown> {
  await vi.waitUntil(async () => (await process.get(id)).task.finishedAt !== null, patient);
  const { content = [], message } = bodyOf(await process.get(id)) as {
    readonly content?: readonly { readonly text?: string; readonly name?: string; readonly uri?: string }[];
    readonly message?: string;
  };
  const [said, ...links] = content;
  const files: Record<string, string> = {};
  for (const { name = "", uri } of links) {
    expect(uri).toBe(`task://${id}/artifact/${name}`);
    const part = await process.runtime.artifact(id, nobody, { name, from: 0, bytes: null });
    files[name] = part?.data.toString() ?? "";
  }
  return [said?.text ?? message, files];
}

const numbers = Array.from({ length: 60_000 }, (_, place) => `${place + 1}\n`).join("");

it("all of its output is kept, and its files are removed", async () => {
  const process = await Process.started(setupOf(sh("seq 60000; printf late >&2")));
  const id = await process.callId("tool");
  expect(await endOf(process, id)).toEqual(["exit 0", { "out.log": numbers, "err.log": "late" }]);
  expect(await readdir(join(folder, "exec"))).toEqual([]);
  await process.runtime.stop();
});

it("that of a program that fails is kept, of its last run", async () => {
  const tries = join(folder, "tries");
  const script = `echo x >> ${tries}; wc -l < ${tries} | tr -d ' '; exit 3`;
  const process = await Process.started(setupOf(sh(script, { ...kept, retries: 1 })));
  const id = await process.callId("tool");
  await vi.waitUntil(async () => (await process.store.journalEntry(id, "work"))?.tries === 1, patient);
  await process.clock.advance(3_600_000);
  const said = "/bin/sh ended with exit code 3.";
  expect(await endOf(process, id)).toEqual([said, { "out.log": "2\n", "err.log": "" }]);
  await process.runtime.stop();
});

it("a crash between the file and the end of the program keeps both, and the program runs once", async () => {
  const runs = join(folder, "runs");
  const script = `echo x >> ${runs}; echo whole`;
  let ends = 0;
  const before: BeforeCall = async (call) => {
    if (call === "record_step" && ++ends === 3) await new Promise(() => undefined); // both files have ended
  };
  const first = await Process.started(setupOf(sh(script), before));
  const id = await first.callId("tool");
  await vi.waitUntil(() => ends === 3, patient);
  const second = await first.crash(setupOf(sh(script)));
  expect(await endOf(second, id)).toEqual(["exit 0", { "out.log": "whole\n", "err.log": "" }]);
  expect(await readFile(runs, "utf8")).toBe("x\n");

  const retried = await second.crash(
    setupOf(async (args, task) => {
      await sh(script)(args, task);
      throw new Error("not yet");
    }),
  );
  const failed = await retried.callId("tool");
  await vi.waitUntil(async () => (await retried.get(failed)).task.finishedAt !== null, patient);
  const third = await retried.restart(setupOf(sh(script)));
  const again = await adminOf(third).as("ann").retry(failed);
  expect(await endOf(third, again.id)).toEqual(["exit 0", { "out.log": "whole\n", "err.log": "" }]);
  expect(await readFile(runs, "utf8")).toBe("x\nx\nx\n"); // its files went with the old task
  await third.runtime.stop();
});

it("what cannot be kept is refused before the program runs, or says why", async () => {
  const ran = join(folder, "ran");
  const tools = {
    part: sh(`echo x >> ${ran}`),
    tool: { config: {}, handler: async (_, task) => task.call("part", "part", {}) } as const,
    large: sh("seq 60000"),
    twice: sh("true", { artifacts: { stdout: "same", stderr: "same" } }),
  } satisfies ConstructorParameters<typeof Process>[0]["tools"];
  const { options } = setupOf(tools.part);
  const process = await Process.started({ tools, options: { ...options, maxArtifactBytes: 1_000 } });
  const [child, large, twice] = await Promise.all(
    ["tool", "large", "twice"].map((tool) => process.callId(tool)),
  );
  expect(await endOf(process, child ?? "")).toEqual([expect.stringContaining("has no artifacts"), {}]);
  expect(await readFile(ran, "utf8").catch(() => "")).toBe("");
  expect(await endOf(process, large ?? "")).toEqual([expect.stringContaining("maxArtifactBytes"), {}]);
  expect(await endOf(process, twice ?? "")).toEqual([expect.stringContaining("already used"), {}]);
  await process.runtime.stop();
});
