import { DetailedTaskV2Schema } from "@modelcontextprotocol/ext-tasks/core/v2";
import { expect, it } from "vitest";
import { detailedTask } from "../../../src/generation/2026-07-28.ts";
import type { InputRequest } from "../../../src/task/journal.ts";
import { asking, cancelled, completed, failed, working } from "./sample-view.ts";

const base = ["taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs", "_meta"];
const form = { mode: "form", message: "Size?", requestedSchema: { type: "object", properties: {} } };
const size: InputRequest = { key: "size", method: "elicitation/create", params: JSON.stringify(form) };
const roots: InputRequest = { key: "roots", method: "roots/list", params: "{}" };

it("adds nothing to working and cancelled tasks [X-027]", () => {
  expect(Object.keys(detailedTask(working({ statusMessage: "page 1" }))).toSorted()).toEqual(
    [...base, "statusMessage"].toSorted(),
  );
  expect(Object.keys(detailedTask(cancelled()))).toEqual(base);
});

it("adds every open question by its key [X-028 X-045 X-046]", () => {
  const task = detailedTask(asking([size, roots]));
  expect(task.status).toBe("input_required");
  expect(task.inputRequests).toEqual({
    size: { method: "elicitation/create", params: form },
    roots: { method: "roots/list", params: {} },
  });
});

it("takes any text as a key of a question", () => {
  const task = detailedTask(asking([{ ...roots, key: "__proto__" }]));
  expect(JSON.stringify(task.inputRequests)).toBe('{"__proto__":{"method":"roots/list","params":{}}}');
});

it("adds the result, as the plain request would have had it [X-029 X-047 X-100 A-42]", () => {
  const result = { content: [{ type: "text", text: "no template" }], isError: true };
  expect(detailedTask(completed(result)).result).toEqual({ ...result, resultType: "complete" });
});

it("never says that an inlined result is a task [X-015]", () => {
  const imitation = { content: [], resultType: "task", taskId: "another" };
  expect(detailedTask(completed(imitation)).result).toMatchObject({ resultType: "complete" });
});

it("adds the error with code, message and data [X-030 X-049 X-099 X-P-006]", () => {
  const error = { code: -32050, message: "no printer", data: { floor: 3 } };
  expect(detailedTask(failed(error)).error).toEqual(error);
});

it("has the published form in each status, and no key that is not in it [X-031 X-P-020]", () => {
  const views = [
    working({ statusMessage: "page 1" }),
    asking([size, roots]),
    completed({ content: [] }),
    failed({ code: -32603, message: "no" }),
    cancelled(),
  ];
  for (const view of views) {
    // `_meta` is not of a task but of every result and of all params.
    const { _meta, ...task } = detailedTask(view);
    expect(_meta).toEqual({ "holdfast/tool": "publish" });
    expect(DetailedTaskV2Schema.parse(task)).toEqual(task);
    for (const absent of ["requestState", "ttl", "pollInterval"]) expect(task).not.toHaveProperty(absent);
  }
});
