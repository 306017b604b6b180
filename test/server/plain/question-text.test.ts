import { expect, it } from "vitest";
import { answerFor, describeQuestion } from "../../../src/server/plain/ticket.ts";

it("shows a model the prompt of a sampling question, and takes its text", () => {
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
