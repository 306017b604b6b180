import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "holdfast/sqlite";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { accept, greets, PrepareCaller } from "./prepare-caller.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { openState, sealState } from "../../src/server/2026-07-28/mrtr.ts";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { StatelessClient, type WireResponse } from "../kit/stateless-client.ts";

const answers = { user_name: accept("ada") };
const hour = 3_600_000;

function expectRefused({ error, result }: WireResponse, message = /Invalid requestState/): void {
  expect([error?.code, result]).toEqual([-32602, undefined]);
  expect(error?.message).toMatch(message);
}

describe("requestState", () => {
  it("is refused where it was changed or made up [X-B-010]", async () => {
    const caller = await PrepareCaller.of(greets);
    const { requestState } = await caller.round();
    const flip = (at: number): string => {
      const other = requestState.at(at) === "A" ? "B" : "A";
      return requestState.slice(0, at) + other + requestState.slice(at).slice(1);
    };
    const bad = [flip(0), flip(4), flip(40), flip(-8), requestState.slice(0, -8), "v1.", "v1.AAAA", "", "{}"];
    for (const changed of bad) expectRefused(await caller.retry({ requestState: changed }, answers));
    expect(await caller.end({ requestState }, answers)).toMatchObject(text("ADA gets q3"));
  });

  it("is good for its own tool and arguments only, in whatever order they come [X-B-010]", async () => {
    const caller = await PrepareCaller.of(greets);
    const { requestState } = await caller.round({ arguments: { report: "q3", more: 1 } });
    const inputResponses = answers;
    expectRefused(await caller.call({ requestState, inputResponses, arguments: { report: "q4", more: 1 } }));
    expectRefused(await caller.call({ requestState, inputResponses }));
    const praise = new PrepareCaller(caller.peer, "praise");
    expectRefused(await praise.call({ requestState, inputResponses, arguments: { report: "q3", more: 1 } }));
    const own = await caller.call({ requestState, inputResponses, arguments: { more: 1, report: "q3" } });
    expect(own.result).toMatchObject({ resultType: "task" });
  });

  it("is good for its own principal only [X-B-010]", async () => {
    const peer = await StatelessClient.of({
      tools: greets,
      http: { authenticate: async (request) => request.headers.get("authorization") ?? undefined },
    });
    const as = (who: string) => new PrepareCaller(peer, "greet", { headers: { authorization: who } });
    const round = await as("ada").round();
    expectRefused(await as("mallory").retry(round, answers));
    expect((await as("ada").retry(round, answers)).result).toMatchObject({ resultType: "task" });
  });

  it("is good for an hour after its round [X-B-010]", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const caller = await PrepareCaller.of(greets);
    const round = await caller.round();
    vi.setSystemTime(Date.now() + hour - 1);
    const again = await caller.round({ requestState: round.requestState });
    vi.setSystemTime(Date.now() + 1);
    expectRefused(await caller.retry(round, answers), /expired/);
    expect((await caller.retry(again, answers)).result).toMatchObject({ resultType: "task" });
  });

  it("tells its holder nothing", async () => {
    const caller = await PrepareCaller.of(greets);
    const { requestState } = await caller.round();
    const decoded = Buffer.from(requestState.slice(3), "base64url").toString("latin1");
    expect(decoded).not.toMatch(/user_name|asked/);
    expect((await caller.round()).requestState).not.toBe(requestState);
  });

  it("is opened by the server that comes after, and its answers with it [A-49]", async () => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-prepare-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const start = () => serve({ tools: greets, options: { store: sqliteStore(join(folder, "tasks.db")) } });
    const first = await start();
    const round = await new PrepareCaller(new StatelessClient(first.http.url)).round();
    await first.http.close();
    const second = await start();
    const caller = new PrepareCaller(new StatelessClient(second.http.url));
    expect(await caller.end(round, answers)).toMatchObject(text("ADA gets q3"));
    await second.http.close();
  });

  it("of another store is refused [X-B-010]", async () => {
    const round = await (await PrepareCaller.of(greets)).round();
    expectRefused(await (await PrepareCaller.of(greets)).retry(round, answers));
  });
});

it("a state is good for an hour and the difference of clocks, whatever it says [X-B-010]", async () => {
  const key = Buffer.alloc(32, 1);
  const secret = async () => ({ current: key, accepted: [key] });
  const at = (ms: number) => ({ secret, clock: { ...systemClock, now: () => ms } });
  const sealed = await sealState(at(2 * hour), ["call"], { a: 1 }); // as if at 0 by whoever has the key
  await expect(openState(at(0), ["call"], sealed)).rejects.toMatchObject({ code: "invalid_params" });
  expect(await openState(at(2 * hour - 30_000), ["call"], sealed)).toEqual({ a: 1 });
});
