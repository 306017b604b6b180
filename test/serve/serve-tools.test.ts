import type { CallToolResult } from "@modelcontextprotocol/server";
import { testTasks } from "holdfast/testing";
import { expect, it } from "vitest";
import { command, type CommandOptions } from "../../src/serve/command/command.ts";
import { http, type HttpOptions } from "../../src/serve/http/http.ts";
import { serveTools, type ServedTools } from "../../src/serve/serve-tools.ts";
import type { SourceHost, SourceTool, ToolSource } from "../../src/serve/source.ts";

const said = (text: string): CallToolResult => ({ content: [{ type: "text", text }] });

function tool(name: string, text: string): SourceTool {
  return { name, config: { onCrash: "resume" }, handler: async () => said(text) };
}

/** A source whose tools the test sets. */
class Source implements ToolSource {
  readonly name: string;
  host: SourceHost | undefined;
  isClosed = false;
  readonly #tools: readonly SourceTool[];

  constructor(name: string, ...tools: readonly SourceTool[]) {
    this.name = name;
    this.#tools = tools;
  }

  async open(host: SourceHost) {
    this.host = host;
    host.setTools(this.#tools);
    return {
      close: async () => {
        this.isClosed = true;
      },
    };
  }
}

async function serving(...sources: readonly ToolSource[]) {
  const errors: unknown[] = [];
  let served: ServedTools | undefined;
  const t = await testTasks(async (tasks) => {
    served = await serveTools(tasks, sources, { onError: (error) => errors.push(error) });
  });
  if (served === undefined) throw new Error("never served");
  return { t, served, errors, names: () => served?.tools.map(({ name }) => name) };
}

it("serves the tools of its sources as durable tools, and follows their changes", async () => {
  const one = new Source("one", tool("a", "first"));
  const kept = tool("c", "kept");
  const two = new Source("two", tool("b", "second"), kept);
  const { t, names } = await serving(one, two);
  await using _ = t;
  expect(await t.call("b")).toMatchObject(said("second"));
  two.host?.setTools([kept, tool("b", "changed"), tool("d", "new")]);
  expect(names()?.toSorted()).toEqual(["a", "b", "c", "d"]);
  expect(await t.call("b")).toMatchObject(said("changed"));
});

it.each([
  ["command", () => command("tool", { run: ["true"], timoutMs: 5 } as CommandOptions)],
  ["http", () => http("tool", { url: "http://127.0.0.1:1/", timoutMs: 5 } as HttpOptions)],
])("refuses a setting of a tool of %s that nothing knows", async (_, source) => {
  await expect(serving(source())).rejects.toThrow(/timoutMs/);
});

it("leaves out a tool whose name another source has taken meanwhile, and says whose", async () => {
  const one = new Source("one", tool("a", "first"));
  const two = new Source("two", tool("b", "second"));
  const { t, errors } = await serving(one, two);
  await using _ = t;
  two.host?.setTools([tool("a", "other")]);
  expect(errors).toMatchObject([
    { code: "configuration", message: expect.stringMatching(/"a": one of one, and one of two/) },
  ]);
  expect(await t.call("a")).toMatchObject(said("first"));
});

it("replaces sources as a whole, or not at all", async () => {
  const one = new Source("one", tool("a", "first"));
  const two = new Source("two", tool("b", "second"));
  const { t, served, names } = await serving(one, two);
  await using _ = t;
  const wrong = new Source("wrong", tool("c", "third"), tool("b", "again"));
  await expect(served.replace([two, wrong])).rejects.toMatchObject({ code: "configuration" });
  expect(names()).toEqual(["a", "b"]);
  expect([one.isClosed, wrong.isClosed]).toEqual([false, true]);
  await served.replace([two, new Source("three", tool("c", "third"))]);
  expect(names()).toEqual(["b", "c"]);
  expect([one.isClosed, two.isClosed]).toEqual([true, false]);
  await expect(t.call("a")).rejects.toThrow("Tool a not found");
});

it("closes a source that was replaced when its last call under way has ended", async () => {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const handler = async () => {
    begun.resolve();
    await gate.promise;
    return said(`closed: ${old.isClosed}`);
  };
  const old = new Source("old", { ...tool("a", ""), handler });
  const { t, served } = await serving(old);
  await using _ = t;
  const called = t.call("a");
  await begun.promise;
  await served.replace([new Source("new", tool("a", "new"))]);
  expect(old.isClosed).toBe(false);
  expect(await t.call("a")).toMatchObject(said("new"));
  gate.resolve();
  expect(await called).toMatchObject(said("closed: false"));
  expect(old.isClosed).toBe(true);
});
