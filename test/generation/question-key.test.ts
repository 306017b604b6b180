import { expect, it } from "vitest";
import { questionKeyMeta, questionKeyOf, withQuestionKey } from "../../src/generation/extensions.ts";

it("names a question beside all else that its params say, and wins over what an author wrote there", () => {
  const params = { message: "Send it?", _meta: { mark: 1, [questionKeyMeta]: "theirs" } };
  const named = withQuestionKey(params, "approve");
  expect(named).toEqual({ message: "Send it?", _meta: { mark: 1, "holdfast/questionKey": "approve" } });
  expect(questionKeyOf(named)).toBe("approve");
});

it.each([
  undefined,
  null,
  {},
  { _meta: 5 },
  { _meta: { [questionKeyMeta]: "" } },
  { _meta: { [questionKeyMeta]: 5 } },
])("finds no name in %j", (params) => {
  expect(questionKeyOf(params)).toBeUndefined();
});
