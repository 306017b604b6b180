// What an update brings × the question it is for × where it stands in the update × who sends it.
import type { TaskContext } from "holdfast";
import { expect, it } from "vitest";
import { tasksExtension, text } from "../../kit/messages.ts";
import { serve } from "../../kit/server.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { cells, type Cell } from "./cells.ts";

const dimensions = {
  question: ["form", "optional form", "url", "sampling", "roots"],
  answer: [
    "good",
    "declined",
    "no content",
    "null",
    "a string",
    "a number",
    "a boolean",
    "a list",
    "an empty object",
    "an unknown action",
    "an action that is no string",
    "null content",
    "wrong content",
  ],
  position: ["alone", "first", "in the middle", "last", "beside keys that are not open"],
  door: ["tasks/update", "operator"],
} as const;

type Tried = Cell<typeof dimensions>;

const tried = cells(dimensions, [
  {
    where: {
      question: ["sampling", "roots"],
      answer: ["declined", "an unknown action", "an action that is no string"],
    },
    reason:
      "Only the answers to elicitations have an action: a client that samples nothing sends no answer (A-23).",
  },
  {
    where: { question: ["roots"], answer: ["no content", "null content"] },
    reason: "A list of roots is its own content; without it, it is the empty object.",
  },
]);

const form = (required: readonly string[]): object => ({
  message: "Who?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } }, required },
});

const questions: Readonly<Record<Tried["question"], (task: TaskContext) => Promise<unknown>>> = {
  form: (task) => task.elicit("asked", form(["name"]) as never),
  "optional form": (task) => task.elicit("asked", form([]) as never),
  url: (task) =>
    task.elicit("asked", { mode: "url", message: "Pay", url: "https://example.com", elicitationId: "e1" }),
  sampling: (task) =>
    task.sample("asked", {
      messages: [{ role: "user", content: { type: "text", text: "Hi" } }],
      maxTokens: 9,
    }),
  roots: (task) => task.roots("asked"),
};

const accepted = { action: "accept", content: { name: "Ann" } };
const message = { role: "assistant", model: "m" };

/** Answers whose form depends on the question; the others are the same for all. */
const own: Readonly<Record<Tried["question"], Readonly<Record<string, unknown>>>> = {
  form: { good: accepted, "wrong content": { action: "accept", content: { name: 5 } } },
  "optional form": { good: accepted, "wrong content": { action: "accept", content: "Ann" } },
  url: { good: { action: "accept" }, "wrong content": { action: "accept", content: ["paid"] } },
  sampling: {
    good: { ...message, content: { type: "text", text: "Hello" } },
    "wrong content": { ...message, content: { type: "text", text: 5 } },
    "no content": message,
    "null content": { ...message, content: null },
  },
  roots: { good: { roots: [{ uri: "file:///a" }] }, "wrong content": { roots: [{ uri: 5 }] } },
};

const common: Readonly<Partial<Record<Tried["answer"], unknown>>> = {
  declined: { action: "decline" },
  "no content": { action: "accept" },
  null: null,
  "a string": "accept",
  "a number": 5,
  "a boolean": true,
  "a list": [accepted],
  "an empty object": {},
  "an action that is no string": { action: null, content: { name: "Ann" } },
  "null content": { action: "accept", content: null },
  "an unknown action": { action: "maybe", content: { name: "Ann" } },
};

function isGood({ question, answer }: Tried): boolean {
  // Null is no content, as the SDK reads it.
  if (answer === "no content" || answer === "null content")
    return question === "optional form" || question === "url";
  return answer === "good" || answer === "declined";
}

/** Two other questions are open, `before` and `after`. */
function update({ question, answer, position }: Tried): Record<string, unknown> {
  const asked = answer in own[question] ? own[question][answer] : common[answer];
  return {
    alone: { asked },
    first: { asked, before: accepted, after: accepted },
    "in the middle": { before: accepted, asked, after: accepted },
    last: { before: accepted, after: accepted, asked },
    "beside keys that are not open": { never: null, asked, gone: { action: "maybe" } },
  }[position];
}

const everything = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  roots: {},
  extensions: tasksExtension,
};

it.each(tried)("$question, $answer, $position, by $door [X-059 X-063 X-064 X-P-021]", async (cell) => {
  const { http, tasks } = await serve({
    tools: (of) =>
      of.tool("asks", {}, async (_args, task) => {
        const ask = (key: string): Promise<unknown> => task.elicit(key, form([]) as never);
        await Promise.all([ask("before"), questions[cell.question](task), ask("after")]);
        return text("done");
      }),
  });
  const peer = new StatelessClient(http.url);
  const id = await peer.start("asks", {}, { capabilities: everything });
  const open = async (): Promise<string[]> =>
    Object.keys(((await peer.get(id))["inputRequests"] as object | undefined) ?? {}).sort();
  while ((await open()).length < 3); // each is a commit of its own

  const inputResponses = update(cell);
  const fault = await (cell.door === "operator"
    ? tasks.admin
        .as("ann")
        .answer(id, inputResponses)
        .then(
          () => undefined,
          (error: Error) => error,
        )
    : peer.send("tasks/update", { taskId: id, inputResponses }).then(({ error }) => error));

  if (isGood(cell)) {
    expect(fault).toBeUndefined();
    const left = ["after", "asked", "before"].filter((key) => !(key in inputResponses));
    expect(await open()).toEqual(left);
  } else {
    const code = cell.door === "operator" ? "invalid_params" : -32602;
    expect(fault).toMatchObject({ code, message: expect.stringContaining('"asked"') as unknown });
    expect(await open()).toEqual(["after", "asked", "before"]);
  }
});

it("hands null content to the handler as none, whatever brings it", async () => {
  const { http } = await serve({
    tools: (of) =>
      of.tool("asks", {}, async (_args, task) =>
        text(JSON.stringify(await task.elicit("asked", form([]) as never))),
      ),
  });
  const given = { action: "accept", content: null };
  const got = text('{"action":"accept"}');

  const peer = new StatelessClient(http.url);
  const id = await peer.start("asks");
  await peer.until(id, "input_required");
  await peer.result("tasks/update", { taskId: id, inputResponses: { asked: given } });
  expect((await peer.ended(id))["result"]).toMatchObject(got);

  const session = await SessionClient.open(http.url);
  const stream = await session.begin("tools/call", { name: "asks", arguments: {} });
  const asked = await stream.message();
  await session.post({ id: asked?.["id"], result: given });
  expect(await stream.message()).toMatchObject({ result: got });
});
