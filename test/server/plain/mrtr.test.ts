import { expect, it } from "vitest";
import { text } from "../../kit/messages.ts";
import { serve } from "../../kit/server.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { addConfirm } from "./job.ts";

const forms = { capabilities: { elicitation: {} } };

it("answers a call with its questions, and the next one with the result [A-49 X-B-022]", async () => {
  const peer = await StatelessClient.of({ tools: addConfirm });
  const first = await peer.call("confirm", {}, forms);
  expect(first.result).toMatchObject({
    resultType: "input_required",
    inputRequests: {
      ok: { method: "elicitation/create", params: { message: "Send 12 rows?", mode: "form" } },
    },
  });
  const requestState = first.result?.["requestState"];
  const retry = (inputResponses: object): ReturnType<StatelessClient["send"]> =>
    peer.send("tools/call", { name: "confirm", arguments: {}, requestState, inputResponses }, forms);
  // An invalid answer leaves the question open.
  for (const ok of [{ action: "accept", content: {} }, { action: "maybe" }, null, "go", ["go"], 1]) {
    const again = await retry({ ok });
    expect(again.result).toMatchObject({ resultType: "input_required", inputRequests: { ok: {} } });
  }
  const done = await retry({ ok: { action: "accept", content: { note: "go" } } });
  expect(done.result).toMatchObject({ resultType: "complete", ...text("sent: go") });
  // The state names the task, so that the same round gets the same result again.
  expect((await retry({ ok: { action: "decline" } })).result).toMatchObject(text("sent: go"));
});

it("accepts a request state only with the call that it was made for", async () => {
  const peer = await StatelessClient.of({ tools: addConfirm });
  const { result } = await peer.call("confirm", {}, forms);
  for (const [args, requestState] of [
    [{ other: true }, result?.["requestState"]],
    [{}, "made up"],
    [{}, 7],
  ]) {
    const params = { name: "confirm", arguments: args, requestState, inputResponses: {} };
    expect((await peer.send("tools/call", params, forms)).error?.code).toBe(-32602);
  }
});

it("asks questions together that the handler asks at once", async () => {
  const peer = await StatelessClient.of({
    tools: (tasks) =>
      tasks.tool("both", {}, async (_args, task) => {
        const requestedSchema = { type: "object" as const, properties: { v: { type: "string" as const } } };
        const ask = (key: string): Promise<unknown> => task.elicit(key, { message: key, requestedSchema });
        await Promise.all([ask("a"), ask("b")]);
        return text("both");
      }),
  });
  const { result } = await peer.call("both", {}, forms);
  expect(Object.keys(result?.["inputRequests"] as object)).toEqual(["a", "b"]);
  const answer = { action: "accept", content: { v: "x" } };
  const params = { name: "both", arguments: {}, requestState: result?.["requestState"] };
  // The question whose answer is invalid is asked again.
  const inputResponses = { a: { action: "accept", content: { v: 7 } }, b: answer };
  const half = await peer.send("tools/call", { ...params, inputResponses }, forms);
  expect(Object.keys(half.result?.["inputRequests"] as object)).toEqual(["a"]);
  const whole = await peer.send("tools/call", { ...params, inputResponses: { a: answer } }, forms);
  expect(whole.result).toMatchObject(text("both"));
});

it("asks what prepare asks before what the handler asks", async () => {
  const peer = await StatelessClient.of({
    tools: (tasks) =>
      tasks.tool(
        "two",
        {
          prepare: async (_args: unknown, ask) =>
            (
              await ask.elicit("who", {
                message: "Who?",
                requestedSchema: { type: "object", properties: {} },
              })
            ).action,
        },
        async (_args, task) => {
          const requestedSchema = { type: "object" as const, properties: {} };
          const { action } = await task.elicit("sure", { message: "Sure?", requestedSchema });
          return text(`${task.prepared} ${action}`);
        },
      ),
  });
  let params: object = { name: "two", arguments: {} };
  for (const key of ["who", "sure"]) {
    const { result } = await peer.send("tools/call", params, forms);
    expect(Object.keys(result?.["inputRequests"] as object)).toEqual([key]);
    const inputResponses = { [key]: { action: "accept", content: {} } };
    params = { ...params, requestState: result?.["requestState"], inputResponses };
  }
  expect((await peer.send("tools/call", params, forms)).result).toMatchObject(text("accept accept"));
});

it("names the capability that the questions need, and not the extension [X-B-011]", async () => {
  const { http } = await serve({ tools: addConfirm, options: { plain: "wait" } });
  const { status, error } = await new StatelessClient(http.url).call("confirm", {}, { capabilities: {} });
  expect([status, error]).toMatchObject([
    400,
    { code: -32021, data: { requiredCapabilities: { elicitation: {} } } },
  ]);
  expect(error?.message).not.toContain("extension");
});
