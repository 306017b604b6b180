import { connect, type ConnectOptions, type InputRequest, type InputResult } from "holdfast/client";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { memoryHandles } from "../../../src/client/handles/handle-store.ts";
import { text } from "../../kit/messages.ts";
import { serve } from "../../kit/server.ts";
import { accept, form } from "../../server/prepare-caller.ts";

const bad: InputResult = { action: "accept", content: { name: 4 } };

/** A server that asks for a paper size, and a user who answers with these, one after the other, and with the last for ever. */
async function call(answers: readonly InputResult[], options: ConnectOptions) {
  const { http } = await serve({
    tools: (tasks) => {
      tasks.tool("size", {}, async (_args, task) => {
        const { content } = await task.elicit("paper", form("Which size?"));
        return text(String(content?.["name"]));
      });
    },
    http: { anonymous: "shared" },
  });
  const asked: InputRequest[] = [];
  const onInput = async (request: InputRequest): Promise<InputResult> => {
    asked.push(request);
    return answers[asked.length - 1] ?? answers.at(-1) ?? { action: "cancel" };
  };
  const client = await connect(http.url, { pollFloorMs: 1, onInput, handles: memoryHandles(), ...options });
  onTestFinished(() => client.close());
  return { asked, result: await client.callTool("size") };
}

const ways: readonly [string, () => ConnectOptions][] = [
  ["2025-11-25", () => ({ protocolVersion: "2025-11-25" })],
  [
    "2025-11-25, as a task of ours",
    () => ({ protocolVersion: "2025-11-25", receiveTasks: { store: memoryStore(), pollIntervalMs: 1 } }),
  ],
  ["SEP-1686", () => ({ protocolVersion: "2025-06-18" })],
];

it.each(ways)("asks its user again on %s where the answer was refused, and says why", async (_, options) => {
  const { asked, result } = await call([bad, accept("A4")], options());
  expect(result).toMatchObject(text("A4"));
  expect(asked).toHaveLength(2);
  expect(JSON.stringify(asked[1]?.params)).toContain("The last answer was not accepted: ");
});

it.each(ways)("gives a refused answer no more than four times on %s", async (_, options) => {
  const { asked, result } = await call([bad], options());
  expect(result).toMatchObject({ isError: true });
  expect(asked).toHaveLength(4);
});
