import { expect, it } from "vitest";
import type { OnInput } from "../../../src/client/question/ask-user.ts";
import { memoryHandles } from "../../../src/client/handles/handle-store.ts";
import type { TaskHandle } from "../../../src/client/task/task-handle.ts";
import { approval, created } from "../answers.ts";
import { discoveredHoldfast, type Answer, type SeenRequest } from "../scripted-server.ts";
import { connectTo, setUp } from "../setup.ts";

const round: Answer = {
  result: { resultType: "input_required", inputRequests: { approve: approval }, requestState: "sealed" },
};
const answered = { inputResponses: { approve: { action: "decline" } }, requestState: "sealed" };

/** A call whose client ends when it has answered its round, and what a second client makes of it. */
async function resumption(...answers: Answer[]): Promise<{
  asked: number;
  handle: TaskHandle | undefined;
  requests: readonly SeenRequest[];
}> {
  let asked = 0;
  const onInput: OnInput = async () => {
    asked++;
    return { action: "decline" };
  };
  const handles = memoryHandles();
  const { server, client, clock } = await setUp({ handles, onInput }, discoveredHoldfast);
  server.script("tools/call", round, "silence");
  const call = client.startTool("publish_report");
  call.catch(() => undefined);
  await server.sees("tools/call", 2);
  await client.close();
  server.script("server/discover", { result: discoveredHoldfast });
  server.script("tools/call", ...answers);
  const later = await connectTo(server, clock, { handles, onInput });
  const [pending] = await later.pending();
  const handle = await pending?.take();
  return { asked, handle, requests: server.of("tools/call").slice(2) };
}

it("asks nothing again that was answered before there was a task", async () => {
  const { asked, handle, requests } = await resumption(created());
  expect(handle?.taskId).toEqual(expect.any(String));
  expect(asked).toBe(1);
  expect(requests.map(({ params }) => params)).toMatchObject([
    { ...answered, _meta: { "holdfast/repeat": true } },
  ]);
});

it("begins anew where the server takes the state of that round no more", async () => {
  const stale: Answer = { error: { code: -32602, message: "The requestState has expired" } };
  const { asked, requests } = await resumption(stale, round, created());
  expect(asked).toBe(2);
  const [first, second, third] = requests.map(({ params }) => params);
  expect(first).toMatchObject(answered);
  expect(second).not.toHaveProperty("requestState");
  expect(second).toMatchObject({ _meta: { "holdfast/repeat": true } });
  expect(third).toMatchObject(answered);
});
