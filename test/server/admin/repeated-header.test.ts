import { once } from "node:events";
import { createServer, request, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { createTasks } from "holdfast";
import { adminToken, createAdminHandler } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";

it("refuses a request with two tokens in the form of its other refusals", async () => {
  const tasks = createTasks({ store: memoryStore() });
  await tasks.start();
  onTestFinished(() => tasks.stop());
  const server = createServer(createAdminHandler(tasks, { authenticate: adminToken("of-ann", "ann") }));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("The server has no port.");
  const { port } = address;
  const host = `127.0.0.1:${port}`;
  const headers = ["Host", host, "Authorization", "Bearer of-ann", "Authorization", "Bearer of-eve"];
  const asked = request({ host: "127.0.0.1", port, path: "/admin/counts", headers, agent: false });
  asked.end();
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  asked.once("response", resolve).once("error", reject);
  const response = await promise;
  expect([response.statusCode, response.headers["cache-control"]]).toEqual([400, "no-store"]);
  expect(await json(response)).toEqual({
    error: { code: "invalid_request", message: "The request has more than one authorization header." },
  });
});
