import { describe, expect, it } from "vitest";
import { bodyOf, nobody, Process, text, type Handler } from "./harness.ts";

const requestedSchema = { type: "object" as const, properties: { ok: { type: "boolean" as const } } };
const question = { message: "Go on?", requestedSchema };
const yes = { action: "accept", content: { ok: true } };
const never = new Promise<never>(() => undefined);

const ask: Handler = async (_, task) => text((await task.elicit("go", question)).action);

const both: Handler = async (_, task) => {
  const answers = await Promise.all([task.elicit("a", question), task.elicit("b", question)]);
  return text(answers.map(({ action }) => action).join());
};

describe("questions", () => {
  it("shows a question until it is answered, and goes on with the answer [X-045 X-046]", async () => {
    const process = await Process.started({ tools: { ask } });
    const id = await process.callId("ask");
    const { inputs } = await process.asked(id);
    expect(inputs).toEqual([
      { key: "go", method: "elicitation/create", params: JSON.stringify({ mode: "form", ...question }) },
    ]);
    await process.answer(id, "go", yes);
    expect((await process.get(id)).inputs).toEqual([]);
    expect(bodyOf(await process.ended(id))).toEqual(text("accept"));
  });

  it("ignores keys that are not open, and refuses answers of the wrong form [X-063]", async () => {
    const process = await Process.started({ tools: { ask } });
    const id = await process.callId("ask");
    await process.asked(id);
    await process.answer(id, "other", yes);
    await expect(process.answer(id, "go", { nonsense: true })).rejects.toMatchObject({
      code: "invalid_params",
    });
    expect((await process.get(id)).inputs).toHaveLength(1);
    await process.answer(id, "go", yes);
    await process.answer(id, "go", { action: "decline" });
    expect(bodyOf(await process.ended(id))).toEqual(text("accept"));
    await process.answer(id, "go", yes);
  });

  it("takes the answers of two open questions one by one, in any order [X-064 X-P-010]", async () => {
    const process = await Process.started({ tools: { both } });
    const id = await process.callId("both");
    await process.asked(id, 2);
    await process.answer(id, "b", { action: "decline" });
    expect((await process.get(id)).inputs.map(({ key }) => key)).toEqual(["a"]);
    await process.answer(id, "a", yes);
    expect(bodyOf(await process.ended(id))).toEqual(text("accept,decline"));
  });

  it("takes all answers to open questions or none, and ignores keys that are not open [X-063]", async () => {
    const process = await Process.started({ tools: { both } });
    const id = await process.callId("both");
    await process.asked(id, 2);
    const answer = (answers: Record<string, object>): Promise<void> => {
      const entries = Object.entries(answers);
      const all = entries.map(([key, value]) => ({ key, value: JSON.stringify(value) }));
      return process.runtime.answer(id, nobody, all);
    };
    const huge = { text: "x".repeat(process.runtime.options.maxBodyBytes) };
    for (const bad of [{ nonsense: true }, { action: "accept", content: { ok: "maybe" } }, huge]) {
      await expect(answer({ a: yes, b: bad, gone: {} })).rejects.toMatchObject({ code: "invalid_params" });
      await expect(answer({ b: bad, a: yes })).rejects.toMatchObject({ code: "invalid_params" });
      expect((await process.get(id)).inputs.map(({ key }) => key)).toEqual(["a", "b"]);
    }
    // The second is judged while `a` is open, and comes when it is not: that one is passed over, and `b` is taken.
    const decline = { action: "decline" };
    await Promise.all([answer({ a: yes, gone: huge }), answer({ a: decline, b: decline })]);
    expect(bodyOf(await process.ended(id))).toEqual(text("accept,decline"));
  });

  it("does not ask again what was answered before a crash, and keeps asking what was not", async () => {
    const tool =
      (hang: boolean): Handler =>
      async (_, task) => {
        const { action } = await task.elicit("first", question);
        if (hang) await task.step("hang", () => never);
        const second = await task.elicit("second", question);
        return text(`${action} ${second.action}`);
      };
    const first = await Process.started({ tools: { ask: tool(true) } });
    const id = await first.callId("ask");
    await first.asked(id);
    await first.answer(id, "first", yes);
    await first.until(id, ({ task }) => !task.waiting);
    const second = await first.crash({ tools: { ask: tool(false) } });
    expect((await second.asked(id)).inputs.map(({ key }) => key)).toEqual(["second"]);
    const third = await second.crash({ tools: { ask: tool(false) } });
    expect((await third.asked(id)).inputs.map(({ key }) => key)).toEqual(["second"]);
    await third.answer(id, "second", { action: "cancel" });
    expect(bodyOf(await third.ended(id))).toEqual(text("accept cancel"));
  });

  it("takes an answer that comes while nobody runs the task", async () => {
    const first = await Process.started({ tools: { ask } });
    const id = await first.callId("ask");
    await first.asked(id);
    const tools = { ask, other: ask };
    const second = await first.crash({ tools, options: { concurrency: 1 } });
    await second.answer(id, "go", yes);
    expect(bodyOf(await second.ended(id))).toEqual(text("accept"));
  });

  it("needs no slot while it waits, so that questions cannot outnumber the slots", async () => {
    const process = await Process.started({
      tools: { ask, hello: () => text("hi") },
      options: { concurrency: 2 },
    });
    const asking = await Promise.all([1, 2, 3, 4, 5].map(() => process.callId("ask")));
    for (const id of asking) await process.asked(id);
    await process.ended(await process.callId("hello"));
    await Promise.all(asking.map((id) => process.answer(id, "go", yes)));
    for (const id of asking) expect(bodyOf(await process.ended(id))).toEqual(text("accept"));
  });

  it("lets a handler that waited go on before tasks that have not begun, and never above the limit", async () => {
    let running = 0;
    let most = 0;
    const busy: Handler = async (_, task) => {
      most = Math.max(most, ++running);
      await task.step("work", () => undefined);
      running--;
      return text("done");
    };
    const asks: Handler = async (args, task) => {
      await task.elicit("go", question);
      return busy(args, task);
    };
    const process = await Process.started({ tools: { busy, asks }, options: { concurrency: 2 } });
    const ids = await Promise.all([1, 2, 3].map(() => process.callId("asks")));
    for (const id of ids) await process.asked(id);
    const more = await Promise.all(Array.from({ length: 20 }, () => process.callId("busy")));
    await Promise.all(ids.map((id) => process.answer(id, "go", yes)));
    for (const id of [...ids, ...more]) await process.ended(id);
    expect(most).toBe(2);
  });

  it("does not ask a client that cannot answer [X-B-011 A-24]", async () => {
    const process = await Process.started({
      tools: {
        ask,
        web: async (_, task) => {
          await task.elicit("go", {
            mode: "url",
            message: "Sign in",
            url: "https://example.test",
            elicitationId: "1",
          });
          return text("");
        },
      },
    });
    const bare = await process.ended(await process.callId("ask", { origin: { capabilities: {} } }));
    expect(bodyOf(bare)).toMatchObject({ code: -32021, data: { requiredCapabilities: { elicitation: {} } } });
    const formOnly = await process.ended(
      await process.callId("web", { origin: { capabilities: { elicitation: { form: {} } } } }),
    );
    expect(bodyOf(formOnly)).toMatchObject({ data: { requiredCapabilities: { elicitation: { url: {} } } } });
  });

  it.each([
    ["a text for a boolean", { ok: "yes" }],
    ["a member that is asked for and not there", {}],
  ])(
    "leaves a question open whose answer is not what its form asks for: %s [X-P-021]",
    async (_, content) => {
      const form = { ...requestedSchema, required: ["ok"] };
      const process = await Process.started({
        tools: {
          form: async (_args, task) =>
            text((await task.elicit("go", { message: "?", requestedSchema: form })).action),
        },
      });
      const id = await process.callId("form");
      await process.asked(id);
      const answering = process.answer(id, "go", { action: "accept", content });
      await expect(answering).rejects.toMatchObject({ code: "invalid_params" });
      expect((await process.get(id)).inputs).toHaveLength(1);
      await process.answer(id, "go", { action: "decline" });
      expect(bodyOf(await process.ended(id))).toEqual(text("decline"));
    },
  );

  it("puts no second question under a key, in the same attempt or after a crash [X-070 X-071 X-072]", async () => {
    const twice: Handler = async (_, task) => {
      await task.elicit("go", question);
      return text((await task.elicit("go", { ...question, message: "Again?" })).action);
    };
    const first = await Process.started({ tools: { twice } });
    const id = await first.callId("twice");
    await first.asked(id);
    const second = await first.crash({ tools: { twice } });
    await second.asked(id);
    await second.answer(id, "go", yes);
    expect(bodyOf(await second.ended(id))).toMatchObject({
      code: -32603,
      message: expect.stringContaining("was already used"),
    });
  });

  it("refuses another question under a key of the journal [X-072]", async () => {
    const first = await Process.started({ tools: { ask } });
    const id = await first.callId("ask");
    await first.asked(id);
    const changed: Handler = async (_, task) =>
      text((await task.elicit("go", { ...question, message: "Really?" })).action);
    const second = await first.crash({ tools: { ask: changed } });
    await second.answer(id, "go", yes); // until then nothing runs
    const { task } = await second.until(id, ({ task: { blocked } }) => blocked !== undefined);
    expect(task.blocked).toMatchObject({
      key: "go",
      was: 'the question "Go on?"',
      is: 'the question "Really?"',
    });
  });
});
