import { Server } from "@modelcontextprotocol/server";
import type { DurableTool } from "holdfast";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { expectReport, pipeBeside, revisions, serveBeside, text } from "./beside-tasks.ts";

const search = { params: z.object({ words: z.string() }), result: z.object({ found: z.number() }) };
const said: string[] = [];

/** All by raw handlers: tools in two pages, prompts in two, a method and a notification of its own. */
function library(): Server {
  const server = new Server(
    { name: "library", version: "1.0.0" },
    { capabilities: { tools: {}, prompts: {}, resources: {} } },
  );
  const paged = <T>(all: readonly T[], cursor: string | undefined): { page: T[]; nextCursor?: string } =>
    cursor === undefined ? { page: all.slice(0, 1), nextCursor: "second" } : { page: all.slice(1) };
  const inputSchema = { type: "object" as const };
  server.setRequestHandler("tools/list", ({ params }) => {
    const { page: tools, ...next } = paged(
      [
        { name: "a", inputSchema },
        { name: "b", inputSchema },
      ],
      params?.cursor,
    );
    return { tools, ...next };
  });
  server.setRequestHandler("tools/call", ({ params }) => text(`called ${params.name}`));
  server.setRequestHandler("prompts/list", ({ params }) => {
    const { page: prompts, ...next } = paged([{ name: "p" }, { name: "q" }], params?.cursor);
    return { prompts, ...next };
  });
  server.setRequestHandler("resources/list", ({ params }) => {
    const all = [
      { name: "r", uri: "r://1" },
      { name: "s", uri: "s://1" },
    ];
    const { page: resources, ...next } = paged(all, params?.cursor);
    return { resources, ...next };
  });
  server.setRequestHandler("resources/templates/list", ({ params }) => {
    const all = [
      { name: "t", uriTemplate: "t://{n}" },
      { name: "u", uriTemplate: "u://{n}" },
    ];
    const { page: resourceTemplates, ...next } = paged(all, params?.cursor);
    return { resourceTemplates, ...next };
  });
  server.setRequestHandler("acme/search", search, ({ words }) => ({ found: words.length }));
  server.setNotificationHandler("acme/said", { params: z.object({ what: z.string() }) }, ({ what }) => {
    said.push(what);
  });
  return server;
}

describe.each(revisions)("a low-level server on %s", (revision) => {
  it("answers by raw handlers, also methods of its own, beside durable tools [B-034]", async () => {
    const served = await serveBeside(library);
    const client = await served.connect(revision);
    expect(await client.callTool("a")).toMatchObject(text("called a"));
    const request = { method: "acme/search", params: { words: "four" } };
    expect(await client.sdk.request(request, search.result)).toMatchObject({ found: 4 });
    const what = `on ${revision}`;
    await client.sdk.notification({ method: "acme/said", params: { what } });
    await expect.poll(() => said).toContain(what);
    await expectReport(client);
    expect(served.errors).toEqual([]);
  });

  it("lists in pages, with durable tools on the last one [B-028 B-034]", async () => {
    const { sdk } = await (await serveBeside(library)).connect(revision);
    const first = await sdk.listTools({ cursor: undefined });
    expect(first.tools.map(({ name }) => name)).toEqual(["a", "b", "report"]);
    const page = (method: string, cursor?: string): Promise<Record<string, unknown>> =>
      sdk.request({ method, params: cursor === undefined ? {} : { cursor } }, z.looseObject({}));
    expect(await page("tools/list")).toMatchObject({ tools: [{ name: "a" }], nextCursor: "second" });
    const last = await page("tools/list", "second");
    expect(last).toMatchObject({ tools: [{ name: "b" }, { name: "report" }] });
    expect(last["nextCursor"]).toBeUndefined();
    expect((await sdk.listPrompts()).prompts.map(({ name }) => name)).toEqual(["p", "q"]);
    expect((await sdk.listResources()).resources.map(({ name }) => name)).toEqual(["r", "s"]);
    const { resourceTemplates } = await sdk.listResourceTemplates();
    expect(resourceTemplates.map(({ name }) => name)).toEqual(expect.arrayContaining(["t", "u"]));
  });

  it("without tools of its own has the durable ones [B-034]", async () => {
    const bare = (): Server => new Server({ name: "bare", version: "1.0.0" });
    const client = await (await serveBeside(bare)).connect(revision);
    expect((await client.sdk.listTools()).tools).toHaveLength(1);
    await expectReport(client);
    await expect(client.callTool("none")).rejects.toMatchObject({ code: "rpc", error: { code: -32602 } });
  });

  it("leaves a name to the durable tool, which is reported once", async () => {
    const twice = (): Server => {
      const server = library();
      const inputSchema = { type: "object" as const };
      server.setRequestHandler("tools/list", () => ({
        tools: [{ name: "report", title: "Theirs", inputSchema }],
      }));
      return server;
    };
    const served = await serveBeside(twice);
    const client = await served.connect(revision);
    const { tools } = await client.sdk.listTools();
    expect(tools.map(({ name, title }) => [name, title])).toEqual([["report", undefined]]);
    await expectReport(client);
    expect(served.errors).toMatchObject([{ code: "configuration" }]);
  });

  it("refuses handlers and notifications that its capabilities do not cover [B-035]", async () => {
    const failing = (): Server => {
      const server = new Server({ name: "failing", version: "1.0.0" }, { capabilities: {} });
      server.setRequestHandler("prompts/list", () => ({ prompts: [] }));
      return server;
    };
    const served = await serveBeside(failing);
    await expect(served.connect(revision)).rejects.toMatchObject({ name: "TaskClientError" });
    expect(served.errors[0]).toMatchObject({ code: "CAPABILITY_NOT_SUPPORTED" });
    const untold = (): Server => {
      const server = new Server({ name: "untold", version: "1.0.0" }, { capabilities: { tools: {} } });
      server.setRequestHandler("tools/list", () => ({ tools: [] }));
      server.setRequestHandler("tools/call", async () => {
        const refused = await server.sendPromptListChanged().catch((error: unknown) => String(error));
        return text(String(refused));
      });
      return server;
    };
    const client = await (await serveBeside(untold)).connect(revision);
    expect(JSON.stringify(await client.callTool("tell"))).toContain(
      "does not support notifying of prompt list changes",
    );
    await expectReport(client);
  });
});

it("has its client told of durable tools that come and go [B-034]", async () => {
  let extra: DurableTool | undefined;
  const served = await serveBeside(library, {}, (tasks) => {
    extra = tasks.tool("extra", {}, () => text("extra"));
  });
  const { sdk } = await served.connect("2025-11-25");
  const names = async (): Promise<string[]> => (await sdk.listTools()).tools.map(({ name }) => name);
  expect(await names()).toEqual(["a", "b", "report", "extra"]);
  const told = Promise.withResolvers<void>();
  sdk.setNotificationHandler("notifications/tools/list_changed", () => told.resolve());
  extra?.remove();
  await told.promise;
  expect(await names()).toEqual(["a", "b", "report"]);
});

it("works on a pipe", async () => {
  const client = await pipeBeside(library);
  expect(await client.callTool("a")).toMatchObject(text("called a"));
  expect((await client.sdk.listTools()).tools.map(({ name }) => name)).toEqual(["a", "b", "report"]);
  await expectReport(client);
});
