import { testTasks } from "holdfast/testing";
import { expect, it, vi } from "vitest";
import { command } from "../../src/serve/command/command.ts";
import type { Approval } from "../../src/serve/approval.ts";
import { serveTools } from "../../src/serve/serve-tools.ts";
import type { Tasks } from "../../src/server/tasks.ts";
import { StatelessClient } from "../kit/stateless-client.ts";

vi.setConfig({ testTimeout: 10_000 });

const echo = (approval: Approval) =>
  command("echo", {
    inputSchema: { properties: { word: { type: "string" } } },
    run: ["echo", "--", "{word}"],
    approval,
  });

it("asks the user before a call, and runs nothing unless they agree", async () => {
  await using t = await testTasks(
    (tasks) => serveTools(tasks, [echo({ by: "user", message: "Say {word}?" })]),
    {
      patienceMs: 10_000,
      settleMs: 10_000,
    },
  );
  const asked: string[] = [];
  const answered = (approve: boolean) => () => ({ action: "accept", content: { approve } }) as const;
  t.answers({
    approval: (question) => {
      asked.push((question as { message: string }).message);
      return answered(true)();
    },
  });
  expect(await t.call("echo", { word: "hi" })).toMatchObject({ content: [{ text: "-- hi" }] });
  expect(asked).toEqual(["Say hi?"]);
  for (const answer of [answered(false)(), { action: "decline" } as const]) {
    t.answers({ approval: answer });
    const task = await t.start("echo", { word: "hi" });
    expect(await task.result()).toMatchObject({
      isError: true,
      content: [{ text: "echo was not called: the user did not approve it." }],
    });
    expect((await task.journal()).map(({ key }) => key)).toEqual(["approval"]);
  }
});

it("lets operators alone decide, and says who did", async () => {
  let tasks: Tasks | undefined;
  const peer = await StatelessClient.of({
    tools(made) {
      tasks = made;
    },
  });
  if (tasks === undefined) throw new Error("never made");
  await serveTools(tasks, [echo({ by: "operator" })]);
  const id = await peer.start("echo", { word: "hi" });
  const { admin } = tasks;
  await vi.waitUntil(async () => (await admin.show(id)).questions.length === 1);
  const shown = await peer.until(id, "working");
  expect(shown).toMatchObject({ statusMessage: expect.stringMatching(/^Waits for an operator/) });
  expect(shown).not.toHaveProperty("inputRequests");
  const answers = { approval: { action: "accept", content: { approve: true } } };
  const refused = await peer.send("tasks/update", { taskId: id, inputResponses: answers });
  expect(refused.error).toMatchObject({ message: expect.stringMatching(/for those who operate the server/) });
  await admin.as("ann").answer(id, answers);
  expect(await peer.ended(id)).toMatchObject({ result: { content: [{ text: "-- hi" }] } });
  expect(await admin.actions({ taskId: id })).toMatchObject([{ action: "answer", actor: "ann" }]);
});
