import { McpServer, ResourceTemplate, type McpRequestContext } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { expectReport, pipeBeside, revisions, serveBeside } from "./beside-tasks.ts";

const pixel = "iVBORw0KGgo=";
const cities: Readonly<Record<string, readonly string[]>> = {
  fr: ["lyon", "lille", "paris"],
  it: ["lecce", "rome"],
};

function atlas(): McpServer {
  const mcp = new McpServer({ name: "atlas", version: "1.0.0" });
  const meta = { title: "Legend", description: "What the colours mean", mimeType: "text/plain" };
  mcp.registerResource("legend", "atlas://legend", meta, ({ href: uri }) => ({
    contents: [{ uri, text: "green: forest", mimeType: "text/plain" }],
  }));
  mcp.registerResource("pixel", "atlas://pixel", { mimeType: "image/png" }, ({ href: uri }) => ({
    contents: [{ uri, blob: pixel, mimeType: "image/png" }],
  }));
  const city = new ResourceTemplate("atlas://{country}/{city}", {
    list: undefined,
    complete: {
      country: (begun) => Object.keys(cities).filter((name) => name.startsWith(begun)),
      city: (begun, context) =>
        (cities[context?.arguments?.["country"] ?? ""] ?? []).filter((name) => name.startsWith(begun)),
    },
  });
  mcp.registerResource("city", city, { title: "City", description: "One city" }, ({ href: uri }, of) => ({
    contents: [{ uri, text: `${String(of["city"])} in ${String(of["country"])}` }],
  }));
  const country = new ResourceTemplate("country://{country}", {
    list: () => ({
      resources: Object.keys(cities).map((name) => ({
        name,
        uri: `country://${name}`,
        title: `Map of ${name}`,
      })),
    }),
  });
  mcp.registerResource("country", country, { mimeType: "text/plain" }, ({ href: uri }, of) => ({
    contents: [{ uri, text: `${cities[String(of["country"])]?.length} cities` }],
  }));
  return mcp;
}

it.each(revisions)(
  "lists and reads resources of text and of bytes on %s [B-004 B-015 B-019]",
  async (revision) => {
    const client = await (await serveBeside(atlas)).connect(revision);
    const { resources } = await client.sdk.listResources();
    expect(resources.find(({ uri }) => uri === "atlas://legend")).toEqual({
      name: "legend",
      uri: "atlas://legend",
      title: "Legend",
      description: "What the colours mean",
      mimeType: "text/plain",
    });
    const legend = await client.readResource("atlas://legend");
    expect(legend.contents).toEqual([
      { uri: "atlas://legend", text: "green: forest", mimeType: "text/plain" },
    ]);
    const read = await client.readResource("atlas://pixel");
    expect(read.contents).toEqual([{ uri: "atlas://pixel", blob: pixel, mimeType: "image/png" }]);
    await expectReport(client);
  },
);

it.each(revisions)(
  "reads by templates, and lists what their callbacks list, on %s [B-016 B-017]",
  async (revision) => {
    const client = await (await serveBeside(atlas)).connect(revision);
    const { resourceTemplates } = await client.sdk.listResourceTemplates();
    expect(resourceTemplates).toMatchObject([
      { name: "city", uriTemplate: "atlas://{country}/{city}", title: "City", description: "One city" },
      { name: "country", uriTemplate: "country://{country}", mimeType: "text/plain" },
      // Ours, for the logs, outputs and files of tasks.
      { name: "task-log" },
      { name: "task-output" },
      { name: "task-artifacts" },
      { name: "task-artifact" },
    ]);
    const { resources } = await client.sdk.listResources();
    expect(resources.map(({ uri }) => uri).toSorted()).toEqual([
      "atlas://legend",
      "atlas://pixel",
      "country://fr",
      "country://it",
    ]);
    expect((await client.readResource("atlas://it/rome")).contents).toMatchObject([{ text: "rome in it" }]);
    expect((await client.readResource("country://fr")).contents).toMatchObject([{ text: "3 cities" }]);
    await expect(client.readResource("elsewhere://x")).rejects.toMatchObject({ code: "rpc" });
    await expectReport(client);
  },
);

it.each(revisions)(
  "completes variables of templates by those that are filled in, on %s [B-018 B-023]",
  async (revision) => {
    const client = await (await serveBeside(atlas)).connect(revision);
    const ref = { type: "ref/resource" as const, uri: "atlas://{country}/{city}" };
    const country = await client.sdk.complete({ ref, argument: { name: "country", value: "f" } });
    expect(country.completion).toMatchObject({ values: ["fr"] });
    const argument = { name: "city", value: "l" };
    for (const [filled, values] of [
      ["fr", ["lyon", "lille"]],
      ["it", ["lecce"]],
    ] as const) {
      const { completion } = await client.sdk.complete({
        ref,
        argument,
        context: { arguments: { country: filled } },
      });
      expect(completion.values).toEqual(values);
    }
    await expectReport(client);
  },
);

it("does all of it over a pipe, beside the logs of tasks, which are resources too [B-015 B-016]", async () => {
  const client = await pipeBeside(atlas);
  expect((await client.readResource("atlas://it/rome")).contents).toMatchObject([{ text: "rome in it" }]);
  const handle = await client.startTool("report", { month: "2026-10" });
  await handle.result();
  const id = handle.reference?.taskId ?? "none";
  expect((await client.readResource(`task://${id}/log`)).contents).toHaveLength(1);
  expect((await client.sdk.listResources()).resources).toHaveLength(4);
});

/** A server whose tool `change` changes a resource, of which it tells the clients that follow it. */
function board({ era }: McpRequestContext): McpServer {
  const options = { capabilities: { resources: { subscribe: true } } };
  const mcp = new McpServer({ name: "board", version: "1.0.0" }, options);
  const followed = new Set<string>();
  let notes = 1;
  mcp.registerResource("board", "board://notes", {}, ({ href: uri }) => ({
    contents: [{ uri, text: `${notes} notes` }],
  }));
  mcp.server.setRequestHandler("resources/subscribe", ({ params }) => (followed.add(params.uri), {}));
  mcp.server.setRequestHandler("resources/unsubscribe", ({ params }) => (followed.delete(params.uri), {}));
  mcp.registerTool("change", {}, async () => {
    notes++;
    const uri = "board://notes";
    // Since 2026-07-28 the SDK has the subscriptions, and tells those that match.
    if (era === "modern" || followed.has(uri)) await mcp.server.sendResourceUpdated({ uri });
    return { content: [] };
  });
  return mcp;
}

it.each(revisions)("tells who follows a resource that it has changed, on %s", async (protocolVersion) => {
  const client = await pipeBeside(board, { protocolVersion });
  const told: string[] = [];
  client.sdk.setNotificationHandler(
    "notifications/resources/updated",
    ({ params }) => void told.push(params.uri),
  );
  await client.callTool("change"); // nobody follows it yet
  const uri = "board://notes";
  const listening = protocolVersion === "2026-07-28";
  if (listening) await client.sdk.listen({ resourceSubscriptions: ["board://other", uri] });
  else await client.sdk.subscribeResource({ uri });
  await client.callTool("change");
  await client.callTool("change");
  expect(told).toEqual([uri, uri]);
  expect((await client.readResource(uri)).contents).toMatchObject([{ text: "4 notes" }]);
  if (!listening) {
    await client.sdk.unsubscribeResource({ uri });
    await client.callTool("change");
    expect(told).toHaveLength(2);
  }
  await expectReport(client);
});
