import { describe, expect, it } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import { nobody, Process, text, type Handler } from "./harness.ts";
import { Held } from "./watched-store.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const dropping = { maxParkedFrames: 0 };

async function calm(): Promise<void> {
  for (let round = 0; round < 20; round++) await rest();
}

async function untilParked(process: Process, id: string): Promise<void> {
  await process.until(id, ({ task }) => task.state === "queued" && task.waiting);
}

/** Calls `stop` when the question rejects. */
function stopping(stop: (attempt: number) => unknown): Handler {
  return async (_, task) => {
    try {
      return text((await task.elicit("q", question)).action);
    } catch (error) {
      await stop(task.attempt);
      throw error;
    }
  };
}

describe("the handler of a parked task that is cancelled at once", () => {
  it("is told also where its frame was dropped just before", async () => {
    const seen: number[] = [];
    const parking = new Held("park");
    const tools = { job: stopping((attempt) => seen.push(attempt)) };
    const process = await Process.started({ tools, options: dropping, before: parking.before });
    const id = await process.callId("job");
    await parking.reached;
    await process.runtime.cancelNow(id, nobody);
    parking.open();
    await calm();
    expect(seen).toEqual([2]);
    expect(process.errors).toEqual([]);
  });

  it("finds the credentials of the call", async () => {
    const found: unknown[] = [];
    const job: Handler = async (_, task) => {
      await task.elicit("q", question).catch(async () => found.push(await task.credentials()));
      return text("stopped");
    };
    const process = await Process.started({ tools: { job }, options: dropping });
    const id = await process.callId("job", { credentials: "token" });
    await untilParked(process, id);
    await process.runtime.cancelNow(id, nobody);
    await calm();
    expect(found).toEqual(["token"]);
    expect(process.errors).toEqual([]);
  });

  it("may log and put out, of which nothing is stored", async () => {
    const seen: string[] = [];
    const job: Handler = async (_, task) => {
      await task.log("info", `attempt ${task.attempt}`);
      await task.status("asks");
      try {
        return text((await task.elicit("q", question)).action);
      } catch (error) {
        await task.log("warning", "cleans up");
        await task.output("cleaned");
        seen.push("stopped");
        throw error;
      }
    };
    const process = await Process.started({ tools: { job }, options: dropping });
    const id = await process.callId("job");
    await untilParked(process, id);
    await process.runtime.cancelNow(id, nobody);
    await calm();
    expect(seen).toEqual(["stopped"]);
    const page = { list: "log", after: 0, limit: 9 } as const;
    const lines = await process.runtime.lines(id, nobody, page);
    expect(lines.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      { level: "info", text: "attempt 1" },
    ]);
    expect(process.errors).toEqual([]);
  });

  it("has leaked where it goes on after the grace", async () => {
    const hangs = stopping(() => new Promise(() => undefined));
    const process = await Process.started({ tools: { hangs }, options: dropping });
    const id = await process.callId("hangs");
    await untilParked(process, id);
    await process.runtime.cancelNow(id, nobody);
    await calm();
    await process.clock.advance(5_000);
    expect(process.errors).toEqual([expect.objectContaining({ code: "handler_leaked" })]);
  });

  it("runs beside no more of them than handlers run at once", async () => {
    const gate = Promise.withResolvers<void>();
    let told = 0;
    const tools = {
      job: stopping(() => {
        told++;
        return gate.promise;
      }),
    };
    const process = await Process.started({ tools, options: { ...dropping, concurrency: 2 } });
    const ids = await Promise.all(Array.from({ length: 5 }, () => process.callId("job")));
    for (const id of ids) await untilParked(process, id);
    for (const id of ids) await process.runtime.cancelNow(id, nobody);
    await calm();
    expect(told).toBe(2);
    gate.resolve();
    await calm();
    expect(told).toBe(5);
  });

  it("may end after the server has stopped", async () => {
    const gate = Promise.withResolvers<void>();
    const told = Promise.withResolvers<void>();
    const job = stopping(() => {
      told.resolve();
      return gate.promise;
    });
    const process = await Process.started({ tools: { job }, options: dropping });
    const id = await process.callId("job");
    await untilParked(process, id);
    await process.runtime.cancelNow(id, nobody);
    await told.promise;
    await process.runtime.stop();
    gate.resolve();
    await calm();
    expect(process.errors).toEqual([]);
  });

  it("is not told where the task was deleted meanwhile", async () => {
    const reading = new Held("request");
    const seen: number[] = [];
    const tools = { job: stopping((attempt) => seen.push(attempt)) };
    const process = await Process.started({ tools, options: dropping, before: reading.before });
    const id = await process.callId("job");
    await untilParked(process, id);
    await process.runtime.cancelNow(id, nobody);
    await process.runtime.delete(id, nobody);
    reading.open();
    await calm();
    expect(process.errors).toEqual([]);
  });
});
