import { describe, expect, it } from "vitest";
import type { ToolConfig } from "../../src/runtime/tool/tool.ts";
import { nobody, bodyOf, Process, text, type Handler } from "./harness.ts";

const never = new Promise<never>(() => undefined);
const prepared = JSON.stringify({ name: "ada" });

const tell: Handler = (_, task) => text(JSON.stringify(task.prepared) ?? "nothing");
const hang: Handler = () => never;

describe("what was prepared", () => {
  it("is there for the handler, as plain data of its own [A-49]", async () => {
    const process = await Process.started({ tools: { tell } });
    expect(bodyOf(await process.ended(await process.callId("tell", { prepared })))).toEqual(text(prepared));
    expect(bodyOf(await process.ended(await process.callId("tell")))).toEqual(text("nothing"));
    const nothing = await process.callId("tell", { prepared: "null" });
    expect(bodyOf(await process.ended(nothing))).toEqual(text("null"));
  });

  it("is kept through crashes and stops [A-49]", async () => {
    const config: ToolConfig<undefined> = { onCrash: "resume" };
    const hanging = { tools: { tool: { config, handler: hang } }, options: { stopDeadlineMs: 0 } };
    const first = await Process.started(hanging);
    const id = await first.callId("tool", { prepared });
    const second = await first.crash(hanging);
    const stopping = second.restart({ tools: { tool: { config, handler: tell } } });
    await second.clock.advance(0);
    const third = await stopping;
    expect(bodyOf(await third.ended(id))).toEqual(text(prepared));
  });

  it.each<[string, Handler, number]>([
    ["there is no task", tell, 1_000],
    [
      "the task was made late",
      async (args, task) => (await task.step("step", () => 1), tell(args, task)),
      1_000,
    ],
  ])("is there where %s [A-49]", async (_, handler, promoteAfterMs) => {
    const process = await Process.started({
      tools: { tool: { config: { promoteAfterMs }, handler } },
    });
    const call = { ...nobody, tool: "tool", arguments: {}, prepared, origin: { capabilities: {} } };
    const end = await process.runtime.call(call, new AbortController().signal);
    const body =
      end.kind === "outcome"
        ? (JSON.parse(end.outcome.body) as object)
        : bodyOf(await process.ended(end.snapshot.task.id));
    expect(body).toEqual(text(prepared));
  });
});

describe("a secret", () => {
  it("has 256 bits, and is the same for all who ask, now and after a crash", async () => {
    const first = await Process.started({ tools: {} });
    const [a, b, other] = await Promise.all(
      (["request-state", "request-state", "call-keys"] as const).map((name) => first.runtime.secret(name)),
    );
    expect(a?.current).toHaveLength(32);
    expect(b).toEqual(a);
    expect(other).not.toEqual(a);
    const second = await first.crash({ tools: {} });
    expect(await second.runtime.secret("request-state")).toEqual(a);
  });

  it("is asked for again after the store failed", async () => {
    const process = await Process.started({ tools: {} });
    const write = process.store.write.bind(process.store);
    process.store.write = () => Promise.reject(new Error("disk full"));
    await expect(process.runtime.secret("call-keys")).rejects.toThrow("disk full");
    process.store.write = write;
    expect((await process.runtime.secret("call-keys")).current).toHaveLength(32);
  });
});
