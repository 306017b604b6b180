import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import { discover, head, initialize, RawConnection } from "../../kit/raw-connection.ts";
import { text } from "../../kit/messages.ts";
import { serve } from "../../kit/server.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { authorsOwn } from "../session-server.ts";

const options = { stopDeadlineMs: 600_000 };

function tools(tasks: Tasks): void {
  tasks.tool("asks", { requires: ["elicitation"] }, async (_args, task) => {
    await task.elicit("what", { message: "What?", requestedSchema: { type: "object", properties: {} } });
    return text("asked");
  });
}

it.each([
  ["2025-11-25", initialize],
  ["2026-07-28", discover],
])("does not wait at its close for a request of %s that does not come to its end", async (_, whole) => {
  const { http, errors } = await serve({ tools, options });
  const slow = await RawConnection.to(http.port, head("Content-Length: 100", "Expect: 100-continue"));
  expect(await slow.statuses()).toEqual([100]);
  const slower = await RawConnection.to(http.port, whole().slice(0, -1));
  const quick = await RawConnection.to(http.port, whole());
  expect(await quick.statuses()).toEqual([200]);
  await http.close();
  await Promise.all([slow.closed, slower.closed, quick.closed]);
  expect(errors).toEqual([]);
});

it.each(["asks", "ask_user"])(
  "does not wait at its close for the answer to a question, which cannot come any more: %s",
  async (name) => {
    const { http } = await serve({ tools, server: authorsOwn, options });
    for (const standalone of [false, true]) {
      const peer = await SessionClient.open(http.url);
      const stream = standalone ? await peer.listen() : undefined;
      const call = await peer.begin("tools/call", { name, arguments: {} });
      expect(await Promise.race([call.message(), stream?.message() ?? call.message()])).toMatchObject({
        method: "elicitation/create",
      });
    }
    await http.close();
  },
);

it("waits at its close for a call whose question was answered, and not for one whose client left", async () => {
  const { http } = await serve({ tools, server: authorsOwn, options });
  const leaving = new AbortController();
  const left = await SessionClient.open(http.url);
  const { signal } = leaving;
  await (await left.begin("tools/call", { name: "ask_user", arguments: {} }, { signal })).message();
  const open = Promise.withResolvers<void>();
  const running = Promise.withResolvers<void>();
  const answering = await serve({
    tools: (tasks) =>
      tasks.tool("asks", { requires: ["elicitation"] }, async (_args, task) => {
        await task.elicit("what", { message: "?", requestedSchema: { type: "object", properties: {} } });
        running.resolve();
        await open.promise;
        return text("answered");
      }),
    options,
  });
  const peer = await SessionClient.open(answering.http.url);
  const call = await peer.begin("tools/call", { name: "asks", arguments: {} });
  const { id } = (await call.message()) as { id: string };
  await peer.post({ id, result: { action: "accept", content: {} } });
  await running.promise;
  leaving.abort();
  await http.close();
  let closed = false;
  const closing = answering.http.close().then(() => (closed = true));
  // Longer than what waits for its client is waited for.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(closed).toBe(false);
  open.resolve();
  expect(await call.message()).toMatchObject({ result: text("answered") });
  await closing;
});
