import { randomBytes } from "node:crypto";
import { createTasks, type ToolConfig } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { expect, it } from "vitest";
import { AfterAnswers } from "../../../src/server/after-answers.ts";
import { askable, lacking } from "../../../src/server/plain/capabilities.ts";
import { Holds } from "../../../src/server/plain/holds.ts";
import { callKey, isCallKey, scopeOf } from "../../../src/server/plain/owner.ts";
import { answerFor, describeQuestion } from "../../../src/server/plain/questions-for-models.ts";
import { newReference, readReference } from "../../../src/server/plain/reference.ts";
import type { Tool } from "../../../src/runtime/tool/tool.ts";

it("makes references that can be read out, and reads them however they are typed", () => {
  const made = Array.from({ length: 2_000 }, () => newReference(randomBytes));
  for (const reference of made) {
    expect(reference).toMatch(/^[2-9A-HJKMNP-TV-Z]{4}-[2-9A-HJKMNP-TV-Z]{4}$/);
    const loose = ` ${reference.toLowerCase().replace("-", "")} `;
    expect([readReference(reference), readReference(loose)]).toEqual([reference, reference]);
  }
  expect(new Set(made).size).toBe(made.length);
  // Each letter is as likely as any other.
  const counts = new Map<string, number>();
  for (const letter of made.join("").replaceAll("-", "")) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  expect(counts.size).toBe(30);
  for (const count of counts.values()) expect(Math.abs(count - 16_000 / 30)).toBeLessThan(150);
});

it.each(["", "K7QM", "K7QM-2XW0", "K7QM-2XWDD", "K7QM_2XWD", "ÄÖÜ2-2XWD"])(
  "takes %o for no reference",
  (typed) => {
    expect(readReference(typed)).toBeUndefined();
  },
);

it("knows an owner by its principal, else by its session", () => {
  const [ann, session, nobody] = [
    { principal: "ann", session: "s" },
    { principal: null, session: "s" },
    { principal: null, session: undefined },
  ];
  expect([ann, session, nobody].map(scopeOf)).toEqual(["principal:ann", "session:s", undefined]);
  expect(callKey(nobody, "t", {})).toBeUndefined();
  // A principal finds its call from every session.
  expect(callKey(ann, "t", {})).toBe(callKey({ ...ann, session: "other" }, "t", undefined));
  expect(callKey(session, "t", {})).not.toBe(callKey({ ...session, session: "other" }, "t", {}));
  expect([callKey(session, "t", { a: 1 }) ?? null, "k".repeat(22), null].map(isCallKey)).toEqual([
    true,
    false,
    false,
  ]);
});

it("lets the last one who leaves end what nobody kept", () => {
  const holds = new Holds();
  const [a, b] = [holds.enter("t", false), holds.enter("t", false)];
  expect([a.leave(), a.leave(), b.leave()]).toEqual([false, false, true]);
  const [c, d] = [holds.enter("t", false), holds.enter("t", false)];
  c.keep();
  expect([c.leave(), d.leave()]).toEqual([false, false]);
  expect(holds.enter("t", true).leave()).toBe(false);
  const [e, f] = [holds.enter("t", false), holds.enter("t", "unless_known")];
  expect([e.leave(), f.leave()]).toEqual([false, true]);
  expect(holds.enter("t", "unless_known").leave()).toBe(false);
  expect(holds.enter("t", false).leave()).toBe(true);
});

it("tells once what became of an answer", () => {
  const after = new AfterAnswers();
  const told: string[] = [];
  for (const name of ["a", "b", "c"]) after.add(name === "c" ? 2 : 1, (end) => told.push(`${name} ${end}`));
  after.end(1, "sent");
  after.end(1, "lost");
  after.add(3, (end) => told.push(`d ${end}`));
  after.goesOut(3, "sent"); // a transport that closes on its answer
  after.close();
  expect(told).toEqual(["a sent", "b sent", "c lost", "d sent"]);
});

it("lets a companion stand in for forms and samplings, with tickets only", () => {
  const tool = { requires: ["elicitation", "sampling", "roots"] } as unknown as Tool;
  expect(lacking(tool, {}, "wait")).toEqual(["elicitation", "sampling", "roots"]);
  expect(lacking(tool, {}, "ticket")).toEqual(["roots"]);
  expect(lacking(tool, {}, undefined)).toEqual(["elicitation", "sampling", "roots"]);
  expect(askable({}, "wait")).toEqual({});
  expect(askable({ elicitation: { url: {} } }, "ticket")).toEqual({
    elicitation: { url: {}, form: {} },
    sampling: {},
  });
  expect(askable({ elicitation: {}, sampling: { tools: {} } }, "ticket")).toEqual({
    elicitation: {},
    sampling: { tools: {} },
  });
});

it("shows a model what it is asked to write, and takes its text", () => {
  const question = {
    key: "q",
    method: "sampling/createMessage",
    params: JSON.stringify({
      systemPrompt: "Be brief.",
      messages: [
        { role: "user", content: { type: "text", text: "Why?" } },
        { role: "user", content: { type: "image", data: "AA==", mimeType: "image/png" } },
      ],
      maxTokens: 10,
    }),
  } as const;
  const { text } = describeQuestion(question);
  expect(text).toContain("system: Be brief.\nuser: Why?\nuser: {");
  expect(answerFor(question, "Because.")).toEqual({
    key: "q",
    value: JSON.stringify({
      role: "assistant",
      model: "unknown",
      content: { type: "text", text: "Because." },
    }),
  });
  expect(answerFor(question, "decline")).toHaveProperty("error");
  const roots = { key: "r", method: "roots/list", params: "{}" } as const;
  expect(describeQuestion(roots).form).toBe('"decline"');
  expect(answerFor(roots, {})).toHaveProperty("error");
});

it.each<[string, Partial<ToolConfig>]>([
  ["plain", { plain: "later" as never }],
  ["plain", { plain: "ticket", task: "required" }],
  ["plain", { plain: "wait", task: "forbidden" }],
  ["plainDeadlineMs", { plainDeadlineMs: -1 }],
])("refuses a tool whose %s cannot be: %o", (name, config) => {
  const tasks = createTasks({ store: memoryStore() });
  expect(() => tasks.tool("t", config as object, () => ({ content: [] }))).toThrow(name);
  const { task, ...server } = config;
  if (task === undefined) expect(() => createTasks({ store: memoryStore(), ...server })).toThrow(name);
});
