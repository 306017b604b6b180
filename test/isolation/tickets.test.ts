import type { HttpOptions } from "holdfast/http";
import { describe, expect, it } from "vitest";
import { ticketOf } from "../server/plain/job.ts";
import type { Message } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { send } from "./seen.ts";
import { as, authenticate, secret, tools } from "./stage.ts";

/** Calls a tool as somebody whose client knows no tasks. */
type Call = (name: string, args: object) => Promise<Message>;

async function newest(url: string, who: string): Promise<Call> {
  const _meta = { "io.modelcontextprotocol/clientCapabilities": {} };
  return async (name, args) => {
    const answer = (await (
      await send(url, who, "tools/call", { name, arguments: args, _meta })
    ).json()) as Message;
    return answer["result"] as Message;
  };
}

async function earlier(url: string, who: string): Promise<Call> {
  const session = await SessionClient.open(url, {
    version: "2025-06-18",
    capabilities: {},
    ...(who !== "" && as(who)),
  });
  return async (name, args) => (await session.call(name, args))["result"] as Message;
}

async function stage(http: HttpOptions): Promise<string> {
  const pollingTools = { answer: "task_answer", list: "task_list" };
  const options = { plain: "ticket", plainDeadlineMs: 20, pollingTools } as const;
  return (await serve({ tools, http, options })).http.url;
}

/** A reference of nobody's that looks like this one. */
const unknownLike = (reference: string): string =>
  reference.slice(0, -1) + (reference.endsWith("2") ? "3" : "2");

/** Whether `bob` learns anything of what `alice` has under her reference, or can do anything to it. */
async function expectApart(alice: Call, bob: Call): Promise<void> {
  const { reference } = ticketOf(await alice("sleeps", { word: secret }));
  expect(reference).toBeTypeOf("string");
  const tries = [
    ["task_result", {}],
    ["task_cancel", {}],
    ["task_answer", { answer: { name: "bob" } }],
  ] as const;
  for (const [tool, more] of tries) {
    const by = async (typed: string): Promise<string> =>
      JSON.stringify(await bob(tool, { reference: typed, ...more })).replaceAll(typed, "…");
    const foreign = await by(reference);
    expect(foreign).toContain("No call with the reference");
    expect(foreign).toBe(await by(unknownLike(reference)));
    expect(foreign).not.toContain(secret);
  }
  const list = JSON.stringify(await bob("task_list", {}));
  for (const word of [secret, reference]) expect(list).not.toContain(word);

  // The same call of his is one of his own, and his lists show that alone.
  const own = ticketOf(await bob("sleeps", { word: secret })).reference;
  expect(own).not.toBe(reference);
  const his = JSON.stringify(await bob("task_list", {}));
  expect([his.includes(own), his.includes(reference)]).toEqual([true, false]);
  await bob("task_cancel", { reference: own });
  const hers = ticketOf(await alice("task_result", { reference }));
  expect([hers.reference, hers.status]).toEqual([reference, "working"]);
}

describe.each([
  ["2026-07-28", newest],
  ["2025-06-18", earlier],
])("tickets of %s", (_, connect) => {
  it("tell nobody but the principal that they were given to", async () => {
    const url = await stage({ authenticate });
    await expectApart(await connect(url, "alice"), await connect(url, "bob"));
  });
});

it("tickets of callers who are not told apart are keys of their own, and good in later sessions", async () => {
  const url = await stage({});
  const [first, second] = [await earlier(url, ""), await earlier(url, "")];
  const { reference } = ticketOf(await first("sleeps", { word: secret }));
  expect(reference).toMatch(/^[\da-f]{12}[\w-]{22}$/); // 132 random bits
  const guessed = await second("task_result", { reference: reference.slice(0, -1) });
  expect(JSON.stringify(guessed)).toContain("No call with the reference");
  expect(JSON.stringify(guessed)).not.toContain(reference);
  expect(ticketOf(await second("task_result", { reference })).reference).toBe(reference);
});

it("tickets of one protocol era are good in the other, for the principal that they were given to", async () => {
  const url = await stage({ authenticate });
  const [alice, later, bob] = [
    await newest(url, "alice"),
    await earlier(url, "alice"),
    await earlier(url, "bob"),
  ];
  const { reference } = ticketOf(await alice("sleeps", { word: secret }));
  expect(ticketOf(await later("task_result", { reference })).reference).toBe(reference);
  await expectApart(alice, bob);
});
