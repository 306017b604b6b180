import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { ExecError, type ExecOptions, type ExecResult } from "../../src/runtime/exec/exec-options.ts";
import { launch, lookFor } from "../../src/runtime/exec/started-processes.ts";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import { bodyOf, nobody, Process, text, type Handler } from "./harness.ts";
import { SlotGauge } from "./slot-gauge.ts";

vi.setConfig({ testTimeout: 120_000 }); // with real processes, on a busy machine
const patient = { timeout: 60_000, interval: 20 };
let folder: string;
let places = 0;
const execFolder = (): string => join(folder, `exec-${places}`);
const names = (): Promise<string[]> => readdir(execFolder()).catch(() => []);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-exec-"));
});
beforeEach(() => void places++);
afterEach(async () => expect(await names()).toEqual([]));
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

/** A tool that runs this shell script. */
const sh =
  (script: string, options: ExecOptions = {}, args: readonly string[] = []): Handler =>
  async (_, task) =>
    json(await task.exec("work", "/bin/sh", ["-c", script, "sh", ...args], options));

const json = (value: unknown): ReturnType<typeof text> => text(JSON.stringify(value));

function started(
  tools: Record<string, Handler>,
  before?: ConstructorParameters<typeof Process>[0]["before"],
) {
  const options = { execFolder: execFolder(), crashBackoffMs: 0 };
  return Process.started({ tools, options, ...(before && { before }) });
}

async function endOf(process: Process, id: string) {
  await vi.waitUntil(async () => (await process.get(id)).task.finishedAt !== null, patient);
  return process.get(id);
}

async function resultOf(handler: Handler): Promise<ExecResult> {
  const process = await started({ tool: handler });
  const snapshot = await endOf(process, await process.callId("tool"));
  await process.runtime.stop();
  return JSON.parse(textIn(bodyOf(snapshot))) as ExecResult;
}

function textIn(body: Record<string, unknown>): string {
  return (body["content"] as readonly [{ text: string }])[0].text;
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const pidIn = async (file: string): Promise<number> => {
  await vi.waitUntil(async () => (await readFile(file, "utf8").catch(() => "")).endsWith("\n"), patient);
  return Number(await readFile(file, "utf8"));
};

describe("a program on another machine", () => {
  const far = () => ({
    pid: 2 ** 30,
    startedAt: "1",
    machine: { host: "another.example", boot: "another" },
    folder: join(execFolder(), "far"),
    at: Date.now(),
  });

  /** A task whose program was begun on another machine, and goes on here with this handler. */
  async function movedTo(tool: Handler, gauge = new SlotGauge()): Promise<[Process, string]> {
    const asks: Handler = async (_, task) =>
      text(
        JSON.stringify(
          await task.elicit("go", { message: "?", requestedSchema: { type: "object", properties: {} } }),
        ),
      );
    const first = await started({ tool: asks });
    const id = await first.callId("tool");
    const { task } = await first.asked(id);
    const { token } = task;
    if (token === null) throw new Error("The task does not run.");
    const value = JSON.stringify(far());
    await first.store.write({ type: "begin_step", now: first.clock.now(), id, token, key: "work", value });
    const options = {
      execFolder: execFolder(),
      crashBackoffMs: 0,
      concurrency: 1,
      limits: { far: { concurrency: 1 } },
    };
    const second = await first.crash({ tools: { tool, gauge: gauge.handler }, options });
    await second.clock.advance(1_000);
    return [second, id];
  }

  it("is waited for without a slot, and its end is taken where it is seen", async () => {
    const gauge = new SlotGauge();
    const [process, id] = await movedTo(sh("echo twice", { limit: "far" }), gauge);
    for (let looks = 0; looks < 3; looks++) {
      await vi.waitUntil(async () => (await process.get(id)).task.waitsFor === "sleep", patient);
      const entry = await process.store.journalEntry(id, "work");
      expect([JSON.parse(entry?.value ?? "null"), entry?.tries, entry?.error]).toMatchObject([
        { machine: far().machine },
        0,
        null,
      ]);
      expect(await gauge.free(process)).toBe(1);
      const permits = await process.store.limits?.ofTask(id);
      expect(permits).toMatchObject([{ name: "far", entry: "work", isWaiting: false }]);
      await process.clock.advance(5_000);
    }
    const { folder: place } = far();
    await mkdir(place, { recursive: true });
    for (const [name, content] of Object.entries({ out: "from there\n", err: "", exit: "0" }))
      await writeFile(join(place, name), content);
    await vi.waitUntil(async () => {
      await process.clock.advance(10_000);
      return (await process.get(id)).task.finishedAt !== null;
    }, patient);
    const result = JSON.parse(textIn(bodyOf(await process.get(id)))) as ExecResult;
    expect(result).toEqual({ exitCode: 0, stdout: "from there\n", stderr: "", links: [] });
    await process.runtime.stop();
  });

  it("fails the step at once, where it is to", async () => {
    const [process, id] = await movedTo(sh("echo twice", { onOtherMachine: "fail" }));
    const body = bodyOf(await endOf(process, id));
    expect(textIn(body)).toContain("on another.example) runs elsewhere, or has ended there");
    await process.runtime.stop();
  });
});

describe("task.exec", () => {
  it("resolves with the output and the exit code, and leaves no files", async () => {
    const script = "cat; echo more >&2; exit 3";
    const result = await resultOf(sh(script, { stdin: "in\n", successCodes: [3] }));
    expect(result).toEqual({ exitCode: 3, stdout: "in\n", stderr: "more\n", links: [] });
    expect(await names()).toEqual([]);
  });

  it("passes on the variables that it is told to, and no others", async () => {
    process.env["HOLDFAST_TEST_SECRET"] = "secret";
    const { stdout } = await resultOf(sh("env", { env: { OWN: "1" }, inheritEnv: ["PATH"] }));
    delete process.env["HOLDFAST_TEST_SECRET"];
    expect(stdout.split("\n").map((line) => line.split("=")[0])).toEqual(
      expect.arrayContaining(["PATH", "OWN"]),
    );
    expect(stdout).not.toContain("secret");
  });

  it("takes arguments as they are, without a shell", async () => {
    const given = ["$HOME", "a b", "; exit 1", "*", ""];
    const { stdout } = await resultOf(async (_, task) =>
      json(await task.exec("say", "printf", ["<%s>", ...given])),
    );
    expect(stdout).toBe(given.map((each) => `<${each}>`).join(""));
  });

  it("runs programs alone, and no commands of a shell", async () => {
    const error = await caught((task) => task.exec("eval", "eval", ["exit 0"]));
    expect(error).toMatchObject({ code: "exec_failed", exitCode: 127 });
  });

  it("says what is too long for the system, and tries it once", async () => {
    const process = await started({ work: sh("true", { retries: 3 }, ["x".repeat(200_000)]) });
    const ended = await endOf(process, await process.callId("work"));
    expect(JSON.stringify(bodyOf(ended))).toMatch(
      /arguments or the environment of \/bin\/sh are longer than/,
    );
  });

  it("rejects with an ExecError if the program fails, on a replay too", async () => {
    const script = "echo half; echo no such thing >&2; exit 4";
    const seen: unknown[] = [];
    const handler: Handler = async (_, task) => {
      seen.push(await task.exec("work", "/bin/sh", ["-c", script]).catch((error: unknown) => error));
      await task.elicit("ask", { message: "?", requestedSchema: { type: "object", properties: {} } });
      return text("done");
    };
    const setup = { tools: { tool: handler }, options: { execFolder: execFolder() } };
    const first = await Process.started(setup);
    const id = await first.callId("tool");
    await vi.waitUntil(async () => (await first.get(id)).inputs.length === 1, patient);
    const next = await first.crash(setup);
    await next.answer(id, "ask", { action: "accept", content: {} });
    await vi.waitUntil(() => seen.length === 2, patient);
    await next.runtime.stop();
    for (const error of seen) {
      expect(error).toBeInstanceOf(ExecError);
      expect(error).toMatchObject({
        code: "exec_failed",
        exitCode: 4,
        stdout: "half\n",
        stderr: "no such thing\n",
      });
      expect((error as Error).message).toBe("/bin/sh ended with exit code 4: no such thing");
    }
  });

  it("runs again as often as it may", async () => {
    const tried = join(folder, "tried");
    const process = await started({
      tool: sh(`echo x >> ${tried}; test $(wc -l < ${tried}) = 3`, { retries: 2 }),
    });
    const id = await process.callId("tool");
    for (const times of [1, 2]) {
      await vi.waitUntil(
        async () => (await process.store.journalEntry(id, "work"))?.tries === times,
        patient,
      );
      await process.clock.advance(3_600_000);
    }
    expect(JSON.parse(textIn(bodyOf(await endOf(process, id))))).toMatchObject({ exitCode: 0 });
    await process.runtime.stop();
  });

  it("ends all of its processes when the time is over", async () => {
    const file = join(folder, "late");
    const process = await started({
      tool: sh(
        `trap '' TERM; sh -c 'trap "" TERM; echo $$ > ${file}; sleep 1000 & wait' & wait; sleep 1000`,
        {
          timeoutMs: 1_000,
          killAfterMs: 50,
        },
      ),
    });
    const id = await process.callId("tool");
    const child = await pidIn(file);
    expect(isAlive(child)).toBe(true);
    await process.clock.advance(1_000);
    expect(textIn(bodyOf(await endOf(process, id)))).toContain("took longer than 1000 ms");
    expect(isAlive(child)).toBe(false);
    await process.runtime.stop();
  });

  it("ends all of its processes when the task is cancelled", async () => {
    const file = join(folder, "cancelled");
    const process = await started({ tool: sh(`(echo $(sh -c 'echo $PPID') > ${file}; sleep 1000) & wait`) });
    const id = await process.callId("tool");
    const child = await pidIn(file);
    await process.cancel(id);
    await vi.waitUntil(() => !isAlive(child), patient);
    await process.runtime.stop();
  });

  it("ends what it has left behind", async () => {
    const file = join(folder, "left");
    await resultOf(sh(`sleep 1000 & echo $! > ${file}`, { killAfterMs: 1_000 }));
    const child = await pidIn(file);
    await vi.waitUntil(() => !isAlive(child), patient);
  });

  it("keeps the beginning and the end of a large output, and of many lines", async () => {
    const process = await started({
      tool: sh("seq 1 20000; echo oops >&2", { maxOutputBytes: 100, maxLogLines: 10 }),
    });
    const id = await process.callId("tool");
    const { stdout } = JSON.parse(textIn(bodyOf(await endOf(process, id)))) as ExecResult;
    expect(stdout).toMatch(/^1\n2\n3\n[^]*\n… 108794 bytes are left out here …\n[^]*\n20000\n$/);
    const page = { list: "log", after: 0, limit: 100 } as const;
    const lines = (await process.runtime.lines(id, nobody, page)).map(
      ({ body }) => JSON.parse(body) as object,
    );
    const first = [1, 2, 3, 4, 5].map(String);
    const last = [19996, 19997, 19998, 19999, 20000].map(String);
    const info = lines.filter((line) => (line as { level: string }).level === "info");
    expect(info.map((line) => (line as { text: string }).text)).toEqual([
      ...first,
      "… 19990 lines are left out here …",
      ...last,
    ]);
    expect(lines).toContainEqual({
      level: "warning",
      text: "oops",
      data: { exec: "work", stream: "stderr" },
    });
    await process.runtime.stop();
  });

  it.each([
    ["", [], "the name or the path of a program"],
    ["-c", [], "the name or the path of a program"],
    ["ls", ["a\0b"], "a list of texts"],
    ["ls", "-l", "a list of texts"],
  ])("refuses the command %j %j", async (file, args, message) => {
    const error = await caught((task) => task.exec("work", file, args as readonly string[]));
    expect(String(error)).toContain(message);
  });

  it("says that its folder is missing", async () => {
    const error = await caught((task) => task.exec("work", "ls", [], { cwd: join(folder, "none") }));
    expect(String(error)).toContain(`There is no folder ${join(folder, "none")}`);
  });
});

/** What a handler's call rejects with. */
async function caught(call: (task: TaskContext) => Promise<unknown>): Promise<unknown> {
  let thrown: unknown;
  await resultOf(async (_, task) => {
    thrown = await call(task).then(
      () => undefined,
      (error: unknown) => error,
    );
    return json({});
  });
  return thrown;
}

describe("a server that ends", () => {
  it("begins nothing that is not in the journal", async () => {
    const place = { folder: join(execFolder(), "unbegun"), taskId: null, at: 0 };
    const ran = join(folder, "ran");
    const command = { file: "touch", args: [ran], cwd: folder, env: {}, stdin: "" };
    const { launched, ended } = await launch(command, place);
    expect(await lookFor(launched)).toBe("runs");
    process.kill(launched.pid, "SIGKILL"); // as where the server's end of its pipe is closed
    await ended;
    expect(await lookFor(launched)).toBe("not begun");
    expect(existsSync(ran)).toBe(false);
    await rm(place.folder, { recursive: true });
  });

  it.each(["adopt", "restart"] as const)("has its program %s, and loses no line", async (onCrash) => {
    const [begun, gate] = [join(folder, `begun-${onCrash}`), join(folder, `gate-${onCrash}`)];
    const script = `echo $$ >> ${begun}; echo one; until test -e ${gate}; do sleep 0.02; done; echo two`;
    const setup = {
      tools: { tool: sh(script, { onCrash, killAfterMs: 100 }) },
      options: { execFolder: execFolder(), crashBackoffMs: 0 },
    };
    const first = await Process.started(setup);
    const id = await first.callId("tool");
    const pid = await pidIn(begun);
    const next = await first.crash(setup);
    if (onCrash === "restart")
      await vi.waitUntil(async () => (await readFile(begun, "utf8")) !== `${pid}\n`, patient);
    await writeFile(gate, "");
    const { stdout } = JSON.parse(textIn(bodyOf(await endOf(next, id)))) as ExecResult;
    expect(stdout).toBe("one\ntwo\n");
    expect((await readFile(begun, "utf8")).trim().split("\n")).toHaveLength(onCrash === "adopt" ? 1 : 2);
    const lines = await next.runtime.lines(id, nobody, { list: "log", after: 0, limit: 10 });
    expect(lines.map(({ body }) => (JSON.parse(body) as { text: string }).text)).toEqual(["one", "two"]);
    await next.runtime.stop();
  });

  it("takes the exit code of a program that has ended meanwhile", async () => {
    const [begun, gate] = [join(folder, "begun-between"), join(folder, "gate-between")];
    const setup = {
      tools: {
        tool: sh(`echo $$ > ${begun}; until test -e ${gate}; do sleep 0.02; done; exit 5`, {
          successCodes: [5],
        }),
      },
      options: { execFolder: execFolder(), crashBackoffMs: 0 },
    };
    const first = await Process.started(setup);
    const id = await first.callId("tool");
    const pid = await pidIn(begun);
    const dead = await first.crash({ ...setup, options: { ...setup.options, roles: ["serve"] } });
    await writeFile(gate, "");
    await vi.waitUntil(() => !isAlive(pid), patient);
    const next = await dead.crash(setup);
    expect(JSON.parse(textIn(bodyOf(await endOf(next, id))))).toMatchObject({ exitCode: 5 });
    await next.runtime.stop();
  });

  it("says that a program is lost whose exit code nobody has noted, and tries it again as often as it may", async () => {
    const begun = join(folder, "begun-lost");
    const setup = {
      tools: { tool: sh(`echo $PPID >> ${begun}; sleep 1000`) },
      options: { execFolder: execFolder(), crashBackoffMs: 0 },
    };
    const first = await Process.started(setup);
    const id = await first.callId("tool");
    const leader = await pidIn(begun);
    const dead = await first.crash({ ...setup, options: { ...setup.options, roles: ["serve"] } });
    process.kill(-leader, "SIGKILL");
    await vi.waitUntil(() => !isAlive(leader), patient);
    const next = await dead.crash(setup);
    expect(textIn(bodyOf(await endOf(next, id)))).toContain("is gone, and has left no exit code");
    await next.runtime.stop();
  });

  it("has its program ended by another, if the task has ended meanwhile", async () => {
    const begun = join(folder, "begun-over");
    const setup = {
      tools: { tool: sh(`echo $$ > ${begun}; sleep 1000`) },
      options: { execFolder: execFolder(), crashBackoffMs: 0 },
    };
    const first = await Process.started(setup);
    const id = await first.callId("tool");
    const pid = await pidIn(begun);
    const serving = await first.crash({ ...setup, options: { ...setup.options, roles: ["serve"] } });
    await serving.runtime.cancelNow(id, nobody);
    expect(isAlive(pid)).toBe(true);
    const next = await serving.crash(setup);
    await vi.waitUntil(async () => {
      await next.clock.advance(10_000);
      return (await names()).length === 0;
    }, patient);
    expect(isAlive(pid)).toBe(false);
    await next.runtime.stop();
  });
});
