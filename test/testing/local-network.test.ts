import { expect, it } from "vitest";
import { LocalNetwork } from "../../src/testing/test-server.ts";

const url = "http://test/mcp";

it("delivers what was answered before the process died", async () => {
  const network = new LocalNetwork();
  network.connect({
    fetch: async () => {
      queueMicrotask(() => network.cut());
      return Response.json({ taskId: "1" });
    },
  });
  const response = await network.fetch(url);
  expect(await response.json()).toEqual({ taskId: "1" });
});

it("breaks what was not answered, and streams that go on", async () => {
  const network = new LocalNetwork();
  const asked = Promise.withResolvers<void>();
  network.connect({
    fetch: () => {
      asked.resolve();
      return new Promise(() => undefined);
    },
  });
  const unanswered = network.fetch(url);
  await asked.promise;
  network.cut();
  await expect(unanswered).rejects.toThrow("fetch failed");

  network.connect({ fetch: async () => new Response(new ReadableStream()) });
  const { body } = await network.fetch(url);
  network.cut();
  await expect(body?.getReader().read()).rejects.toThrow("fetch failed");
});
