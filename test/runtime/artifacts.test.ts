import { Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import type { ArtifactSource } from "../../src/runtime/tool/handler-return.ts";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import { sampleBytes } from "../kit/sample-bytes.ts";
import { nobody, Process, type Handler, type Setup } from "./harness.ts";

const done = { content: [] };

/** More than one piece, and no multiple of one. */
const size = 700_001;

async function artifactOf(
  { runtime }: Process,
  id: string,
  name = "data.bin",
  range: { readonly from: number; readonly bytes: number | null } = { from: 0, bytes: null },
): Promise<string | undefined> {
  const part = await runtime.artifact(id, nobody, { name, ...range });
  return part?.data.toString("base64");
}

function tool(work: (task: TaskContext) => Promise<unknown>, options?: Setup["options"]): Setup {
  const handler: Handler = async (_, task) => {
    await work(task);
    return done;
  };
  return { tools: { work: handler }, ...(options && { options }) };
}

/** The chunks of a stream, of sizes that fit no piece. */
async function* inChunks(bytes: Uint8Array, length = 99_991): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

test.each([5, null, undefined, {}, Symbol("x"), () => 5])("what is no data says so: %s", async (given) => {
  const faults: unknown[] = [];
  const process = await Process.started(
    tool(async (task) => {
      await task.artifact("data.bin", given as never).catch((fault: unknown) => faults.push(String(fault)));
    }),
  );
  await process.ended(await process.callId("work"));
  expect(faults).toEqual([expect.stringContaining("An artifact is made of text or bytes")]);
});

test("a file that is stored in memory lets others have their turns", async () => {
  const piece = new Uint8Array(65_536);
  let [inTurn, most] = [0, 0];
  const turns = setInterval(() => (inTurn = 0));
  onTestFinished(() => clearInterval(turns));
  async function* bytes() {
    for (let n = 0; n < 256; n++) {
      most = Math.max(most, ++inTurn);
      yield piece;
    }
  }
  const process = await Process.started(tool((task) => task.artifact("data.bin", bytes())));
  await process.ended(await process.callId("work"));
  expect(most * piece.length).toBeLessThan(4 * 1024 * 1024);
});

test("whatever gives bytes or text becomes an artifact, and the handler gets a link to it", async () => {
  const bytes = sampleBytes(size);
  const sources: Record<string, ArtifactSource> = {
    bytes,
    text: "é\n",
    blob: new Blob([bytes]),
    node: Readable.from(inChunks(bytes)),
    web: ReadableStream.from(inChunks(bytes)),
    generator: inChunks(bytes),
    function: () => bytes,
    "later, in parts": async () => inChunks(bytes, 262_144),
    async *texts() {
      yield "é";
      yield "\n";
    },
    empty: new Uint8Array(),
  };
  const links: unknown[] = [];
  const process = await Process.started(
    tool(async (task) => {
      for (const [name, source] of Object.entries(sources)) links.push(await task.artifact(name, source));
    }),
  );
  const id = await process.callId("work");
  await process.ended(id);
  for (const name of Object.keys(sources)) {
    const isText = name.startsWith("text");
    const whole = isText ? Buffer.from("é\n") : name === "empty" ? Buffer.alloc(0) : Buffer.from(bytes);
    expect([name, await artifactOf(process, id, name)]).toEqual([name, whole.toString("base64")]);
    expect(links).toContainEqual({
      type: "resource_link",
      uri: `task://${id}/artifact/${encodeURIComponent(name)}`,
      name,
      mimeType: name === "text" ? "text/plain" : "application/octet-stream",
      size: whole.length,
    });
  }
  const listed = await process.runtime.artifacts(id, nobody);
  expect(listed.map(({ name }) => name)).toEqual(Object.keys(sources));
});

test("a part of an artifact is read as it was asked for, within pieces and across them", async () => {
  const bytes = Buffer.from(sampleBytes(size));
  const process = await Process.started(
    tool((task) => task.artifact("data.bin", bytes), { maxBodyBytes: 300_000 }),
  );
  const id = await process.callId("work");
  await process.ended(id);
  const part = (from: number, count: number): string =>
    bytes.subarray(from, from + Math.min(count, 300_000)).toString("base64");
  for (const [from, count] of [
    [0, 1],
    [262_143, 2],
    [262_144, 262_144],
    [1, 900_000],
    [size - 5, 100],
    [size, 3],
    [size + 1, 3],
    [3, 0],
  ] as const) {
    expect(await artifactOf(process, id, "data.bin", { from, bytes: count })).toBe(part(from, count));
  }
  expect(await artifactOf(process, id, "data.bin", { from: size - 9, bytes: null })).toBe(part(size - 9, 9));
  await expect(artifactOf(process, id)).rejects.toMatchObject({
    code: "invalid_params",
    message: `Artifact "data.bin" has ${size} bytes, and one read gives at most 300000. Read it in parts: add ?from=0&bytes=300000 to its URI.`,
  });
  expect(await artifactOf(process, id, "other")).toBeUndefined();
});

test("another's artifact, and one that is not complete, is shown to nobody", async () => {
  const process = await Process.started(
    tool(async (task) => {
      await task.step("step", () => "s");
      await task.artifact("half", async function* () {
        yield sampleBytes(300_000);
        await new Promise(() => undefined);
      });
    }),
  );
  const id = await process.callId("work");
  await process.journalHas(id, "half");
  expect(await process.runtime.artifacts(id, nobody)).toEqual([]);
  expect(await artifactOf(process, id, "half")).toBeUndefined();
  expect(await artifactOf(process, id, "step")).toBeUndefined();
  const eve = { ...nobody, principal: "eve" };
  await expect(process.runtime.artifacts(id, eve)).rejects.toMatchObject({ code: "unknown_task" });
  const read = process.runtime.artifact(id, eve, { name: "half", from: 0, bytes: null });
  await expect(read).rejects.toMatchObject({ code: "unknown_task" });
  await process.cancel(id);
});

test("a crash in the middle has it stored from the beginning, and one after it not at all", async () => {
  const bytes = sampleBytes(size);
  const reached = Promise.withResolvers<void>();
  const closed: string[] = [];
  let opened = 0;
  const setup = tool(async (task) => {
    const spare = Readable.from(inChunks(bytes)).on("close", () => closed.push("spare"));
    const first = await task.artifact("first", spare);
    const second = await task.artifact("data.bin", async function* () {
      opened++;
      yield bytes.subarray(0, 600_000);
      if (opened === 1) {
        reached.resolve();
        await new Promise(() => undefined);
      }
      yield bytes.subarray(600_000, 600_010);
    });
    if (opened === 2) {
      await task.step("crash here", () => "");
      opened++;
    }
    await task.output([first, second]);
    if (opened === 3) {
      reached.resolve();
      await task.sleep("rest", 60_000);
    }
  });
  const process = await Process.started(setup);
  const id = await process.callId("work");
  await reached.promise;
  expect(await process.store.pieces?.read(id, "data.bin", 1)).toBeDefined();
  const second = await process.crash(setup);
  await second.journalHas(id, "rest");
  expect(closed).toEqual(["spare", "spare"]);
  expect(await artifactOf(second, id)).toBe(Buffer.from(bytes.subarray(0, 600_010)).toString("base64"));
  const third = await second.crash(setup);
  await third.clock.advance(120_000);
  await third.ended(id);
  expect(opened).toBe(3);
  expect(await artifactOf(third, id, "first")).toBe(Buffer.from(bytes).toString("base64"));
  const outputs = await third.runtime.lines(id, nobody, { list: "output", after: 0, limit: 9 });
  expect(outputs).toHaveLength(2); // the links are the same in each attempt
});

test("what the data throws reaches the handler, on a replay too, and leaves nothing behind", async () => {
  const seen: unknown[] = [];
  const setup = tool(async (task) => {
    const data = async function* () {
      yield sampleBytes(300_000);
      throw Object.assign(new Error("gone"), { code: "E_GONE" });
    };
    await task.artifact("broken", data).catch((error: unknown) => seen.push(error));
    await task.artifact("number", () => 1 as never).catch((error: unknown) => seen.push(error));
    await task.sleep("rest", 60_000);
  });
  const process = await Process.started(setup);
  const id = await process.callId("work");
  await process.journalHas(id, "rest");
  expect(await process.store.pieces?.read(id, "broken", 0)).toBeUndefined();
  const next = await process.crash(setup);
  await next.clock.advance(120_000);
  await next.ended(id);
  expect(seen).toHaveLength(4);
  expect(seen[2]).toEqual(seen[0]);
  expect(seen[0]).toMatchObject({ message: "gone", code: "E_GONE" });
  expect(seen[1]).toMatchObject({ name: "TypeError" });
});

test("limits are named with the options that raise them", async () => {
  const problems: unknown[] = [];
  const process = await Process.started(
    tool(
      async (task) => {
        const note = (error: unknown): void => void problems.push(error);
        await task.artifact("large", sampleBytes(1_001)).catch(note);
        await task.artifact("fits", sampleBytes(1_000));
        await task.artifact("third", "").catch(note);
      },
      { maxArtifactBytes: 1_000, maxArtifactsPerTask: 2 },
    ),
  );
  const id = await process.callId("work");
  await process.ended(id);
  expect(problems).toMatchObject([
    {
      code: "too_large",
      message: 'Artifact "large" is larger than 1000 bytes, the most that maxArtifactBytes allows.',
    },
    {
      code: "limit_reached",
      message: "The task has 2 artifacts and cannot have more (maxArtifactsPerTask).",
    },
  ]);
});

test("names that no file can have, kinds that are none, and keys that are taken are refused", async () => {
  const codes: unknown[] = [];
  const process = await Process.started(
    tool(async (task) => {
      const refused = async (name: unknown, options?: object): Promise<void> => {
        const stored = task.artifact(name as string, "x", options);
        codes.push(await stored.catch((error: unknown) => (error as { code: string }).code));
      };
      for (const name of ["", "a/b", "a\\b", "..", "a\nb", "\ud800", "x".repeat(201), 7]) await refused(name);
      await refused("a", { mimeType: "csv" });
      await refused("a", { mime: "text/csv" });
      await task.step("taken", () => "");
      await refused("taken");
      await task.step("inside", () => refused("nested"));
    }),
  );
  await process.ended(await process.callId("work"));
  expect(codes).toEqual([
    ...Array.from({ length: 8 }, () => "invalid_params"),
    "configuration",
    "configuration",
    "duplicate_key",
    "nested_step",
  ]);
});

test("a tool without a task, and one that another tool called, has none and says so", async () => {
  const setup: Setup = {
    tools: {
      direct: {
        config: { task: "forbidden" },
        handler: async (_, task) => [await task.artifact("a", "")] as never,
      },
      outer: async (_, task) => {
        await task.call("inner", "inner");
        return done;
      },
      inner: async (_, task) => ({ content: [await task.artifact("a", "")] }),
    },
  };
  const process = await Process.started(setup);
  onTestFinished(() => process.runtime.stop());
  expect((await process.runInline("direct")).body).toContain(
    "A tool that never runs as a task has no artifacts",
  );
  const { outcome } = await process.ended(await process.callId("outer"));
  expect(outcome?.body).toContain("A tool that another tool called has no artifacts");
});
