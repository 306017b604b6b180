import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../src/task/fault.ts";
import type { LineList } from "../../src/task/task-line.ts";
import { bodyOf, nobody, Process, text, type Handler, type Setup } from "./harness.ts";
import type { BeforeCall } from "./watched-store.ts";

/** A store that will never take a text with "forbidden" in these commands. */
function refusing(...commands: readonly string[]): BeforeCall {
  return (call, _, command) => {
    if (commands.includes(call) && JSON.stringify(command).includes("forbidden"))
      throw new HoldfastError("store_refused", "The database refuses this text.");
  };
}

async function ran(handler: Handler, more: Partial<Setup> = {}): Promise<{ process: Process; id: string }> {
  const process = await Process.started({
    tools: { handler },
    before: refusing("append", "update", "retry"),
    ...more,
  });
  const id = await process.callId("handler");
  return { process, id };
}

async function textsOf(process: Process, id: string, list: LineList): Promise<readonly unknown[]> {
  const lines = await process.runtime.lines(id, nobody, { list, after: 0, limit: 999 });
  return lines.map(({ body }) => (JSON.parse(body) as { text: unknown }).text);
}

const summary = (reports: string): string =>
  `Some of what this task reported was not kept: ${reports} that the store refuses.`;

describe("what the store refuses for good of a handler's reports", () => {
  it("fails no task, and takes no other line with it", async () => {
    const { process, id } = await ran(async (_, task) => {
      for (const word of ["one", "forbidden", "two", "forbidden too", "three"]) void task.log("info", word);
      await task.log("info", "four");
      await task.step("s", () => task.log("error", "forbidden in a step"));
      await task.output(["first", "forbidden"].map((word) => ({ type: "text", text: word })));
      return text("done");
    });
    expect(bodyOf(await process.ended(id))).toEqual(text("done"));
    const kept = ["one", "two", "three", "four"];
    expect(await textsOf(process, id, "log")).toEqual([...kept, summary("4 reports")]);
    expect(await textsOf(process, id, "output")).toEqual(["first"]);
    expect(process.errors).toEqual([expect.objectContaining({ code: "store_refused" })]);
  });

  it("still makes room in a log that is full", async () => {
    const { process, id } = await ran(
      async (_, task) => {
        for (const word of ["one", "two", "forbidden", "three", "four"]) await task.log("info", word);
        await task.elicit("q", { message: "?", requestedSchema: { type: "object", properties: {} } });
        return text("done");
      },
      { options: { maxLogLines: 2 } },
    );
    await process.asked(id);
    expect(await textsOf(process, id, "log")).toEqual(["three", "four"]);
  });

  it("costs no other change of the task, and no later report", async () => {
    const { process, id } = await ran(async (_, task) => {
      void task.extend(5_000_000);
      await task.extend(6_000_000);
      void task.status("clean");
      const refused = task.status("forbidden");
      await task.pollInterval(7_000);
      await refused;
      task.progress(1, 3, "forbidden");
      await task.elicit("q", { message: "?", requestedSchema: { type: "object", properties: {} } });
      task.progress(2, 3, "two of three");
      await task.elicit("q2", { message: "?", requestedSchema: { type: "object", properties: {} } });
      return text("done");
    });
    await process.asked(id);
    await process.answer(id, "q", { action: "accept", content: {} });
    await process.clock.advance(1_000);
    const { task } = await process.asked(id);
    expect(task).toMatchObject({
      expiry: { ms: 6_000_000 },
      pollIntervalMs: 7_000,
      progress: { progress: 2, message: "two of three" },
    });
  });

  it("does not cost a further attempt", async () => {
    const { process, id } = await ran(() => text("unused"), {
      tools: {
        handler: {
          config: { retry: { attempts: 2 } },
          handler: (_, task) => {
            if (task.attempt === 1) throw new Error("forbidden");
            return text("done");
          },
        },
      },
    });
    await process.clock.advance(60_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("done"));
  });
});
