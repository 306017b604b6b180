import { AsyncLocalStorage } from "node:async_hooks";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { connect } from "holdfast/client";
import { createFetchHandler } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { describe, expect, it, onTestFinished } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";

const user = new AsyncLocalStorage<string>();
const seen = (): string => user.getStore() ?? "none";
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const yes = { action: "accept", content: {} };

describe("a handler, and what it gave, run in the context of their runtime", () => {
  it("when another task freed the slot", async () => {
    const go = Promise.withResolvers<void>();
    const who: Handler = async () => {
      await go.promise;
      return text(seen());
    };
    const process = await Process.started({ tools: { who }, options: { concurrency: 1 } });
    const ids: string[] = [];
    for (const name of ["alice", "bob", "carol"]) {
      ids.push(await user.run(name, () => process.callId("who", { principal: null })));
    }
    go.resolve();
    const said: unknown[] = [];
    for (const id of ids) said.push(bodyOf(await process.ended(id)));
    expect(said).toEqual(ids.map(() => text("none")));
  });

  it("when others answer, send an event, or cancel, also where it was dropped from memory", async () => {
    const ends: string[] = [];
    const waits: Handler = async (_, task) => {
      task.signal.addEventListener("abort", () => ends.push(`listener: ${seen()}`));
      if (task.signal.aborted) ends.push(`begun: ${seen()}`);
      await task.elicit("q", question);
      await task.waitForEvent("e", "paid");
      return text(seen());
    };
    for (const maxParkedFrames of [0, 100]) {
      const process = await user.run("operator", async () => {
        const made = user.exit(() => new Process({ tools: { waits }, options: { maxParkedFrames } }));
        await made.runtime.start();
        return made;
      });
      const [id, other] = [await process.callId("waits"), await process.callId("waits")];
      const state = maxParkedFrames === 0 ? "queued" : "running";
      for (const each of [id, other]) {
        await process.until(each, ({ task }) => task.waiting && task.state === state);
      }
      await user.run("operator", () => process.answer(id, "q", yes));
      await process.until(
        id,
        ({ task, inputs }) => inputs.length === 0 && task.waiting && task.state === state,
      );
      await user.run("webhook", () => process.runtime.sendEvent(id, { name: "paid" }));
      expect(bodyOf(await process.ended(id))).toEqual(text("none"));
      await user.run("operator", () => process.cancel(other));
      await process.ended(other);
      for (let turn = 0; turn < 20; turn++) await rest();
    }
    expect(ends).toEqual(["begun: none", "listener: none"]);
  });

  it("when it is answered directly, throws, and is asked whether to run again", async () => {
    const asked: string[] = [];
    const on = (): boolean => {
      asked.push(seen());
      return false;
    };
    const fails: Handler = (_, task) => {
      asked.push(seen());
      throw new Error(task.id);
    };
    const direct: Handler = () => text(seen());
    const process = await Process.started({
      tools: { direct, fails: { config: { retry: { attempts: 2, on } }, handler: fails } },
    });
    const outcome = await user.run("alice", () => process.runInline("direct"));
    expect(JSON.parse(outcome.body)).toEqual(text("none"));
    await process.ended(await user.run("alice", () => process.callId("fails")));
    expect(asked).toEqual(["none", "none"]);
  });
});

it("callbacks run in the context in which they were given", async () => {
  const heard = new Set<string>();
  const tasks = user.run("author", () =>
    createTasks({
      store: memoryStore(),
      onEvent: () => {
        heard.add(`onEvent: ${seen()}`);
        throw new Error("reported");
      },
      onError: () => heard.add(`onError: ${seen()}`),
    }),
  );
  tasks.tool("ask", {}, async (_, task) => {
    await task.elicit("q", question);
    return text(seen());
  });
  const handler = user.run("app", () =>
    createFetchHandler(
      tasks.server(() => new McpServer({ name: "reports", version: "1" })),
      { allowedHosts: "any", anonymous: "shared" },
    ),
  );
  onTestFinished(async () => {
    await handler.close();
    await tasks.stop();
  });
  const client = await user.run("host", () =>
    connect("http://localhost/mcp", {
      fetch: (url, init) => user.run("request", () => handler.fetch(new Request(url, init))),
      onInput: () => {
        heard.add(`onInput: ${seen()}`);
        return Promise.resolve({ action: "accept" as const, content: {} });
      },
      onEvent: () => heard.add(`client's onEvent: ${seen()}`),
    }),
  );
  onTestFinished(() => client.close());
  const said = await user.run("caller", () => client.callTool("ask"));
  expect(said.content).toEqual(text("author").content);
  expect([...heard].toSorted()).toEqual([
    "client's onEvent: host",
    "onError: author",
    "onEvent: author",
    "onInput: caller",
  ]);
});
