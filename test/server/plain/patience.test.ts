import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { expect, it } from "vitest";
import type { PlainOptions } from "../../../src/server/plain/plain-policies.ts";
import { rest } from "../../../src/testing/clocks.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { clockedServer, type ClockedServer } from "./clocked-server.ts";
import { Job, ticketOf } from "./job.ts";

const byHost = { plainDeadlineMs: undefined } as const;

type Info = { readonly name: string; readonly version: string };

async function jobs(options: Partial<PlainOptions> = byHost): Promise<ClockedServer> {
  return clockedServer((tasks) => new Job().add(tasks, { joinCalls: false }), { ...byHost, ...options });
}

/** Calls `job`, and expects its ticket after exactly so long. */
async function expectTicketAfter(
  { clock }: ClockedServer,
  session: InMemorySession,
  ms: number,
): Promise<void> {
  const call = session.call("job");
  await rest();
  await clock.advance(ms - 1);
  expect(session.seen.some(({ id }) => id === call)).toBe(false);
  await clock.advance(1);
  const said = ticketOf(await session.result(call)).text;
  expect(said).toContain(`It waits up to ${Math.ceil(ms / 1_000)} s`);
}

it.each<readonly [Info, number]>([
  [{ name: "somebody", version: "1" }, 45_000],
  [{ name: "claude-code", version: "2.1.9" }, 45_000],
  [{ name: "claude-code", version: "2.1.212" }, 90_000],
  [{ name: "claude-code", version: "2.10.0" }, 90_000],
  [{ name: "Visual Studio Code - Insiders", version: "1.132.0" }, 225_000],
  [{ name: "gemini-cli-mcp-client-reports", version: "0.0.1" }, 225_000],
  [{ name: "constructor", version: "1" }, 45_000],
])("gives %j its ticket before it gives up", async (info, ms) => {
  const served = await jobs();
  await expectTicketAfter(served, await InMemorySession.open(served.server, { info }), ms);
});

it("knows the host of a call without a session", async () => {
  const job = new Job();
  const served = await clockedServer((tasks) => job.add(tasks), {
    ...byHost,
    hostTimeoutsMs: { mine: "8s" },
  });
  const meta = { "io.modelcontextprotocol/clientInfo": { name: "mine", version: "1" } };
  const call = { name: "job", arguments: {} };
  const answer = served.peer("bob").result("tools/call", call, { capabilities: {}, meta });
  await job.begun.promise;
  await served.clock.advance(5_900);
  let isOver = false;
  void answer.then(() => (isOver = true));
  await rest();
  expect(isOver).toBe(false);
  await served.clock.advance(100);
  expect(ticketOf(await answer).status).toBe("working");
  job.end();
});

it("takes what the server knows of a host rather than the table, and what it sets for all rather than either", async () => {
  const hostTimeoutsMs = { "claude-code": "40s", mine: 8_000 } as const;
  const info = { name: "claude-code", version: "3.0.0" };
  const known = await jobs({ hostTimeoutsMs });
  await expectTicketAfter(known, await InMemorySession.open(known.server, { info }), 30_000);
  const mine = { name: "mine", version: "" };
  await expectTicketAfter(known, await InMemorySession.open(known.server, { info: mine }), 6_000);
  const set = await jobs({ hostTimeoutsMs, plainDeadlineMs: 5_000 });
  await expectTicketAfter(set, await InMemorySession.open(set.server, { info }), 5_000);
});

it("gives tickets earlier in a session whose client gave up, and in no other", async () => {
  const served = await jobs({ plainDeadlineMs: 45_000 });
  const session = await InMemorySession.open(served.server);
  const giveUp = async (afterMs: number, reason?: string): Promise<void> => {
    const requestId = session.call("job");
    await rest();
    await served.clock.advance(afterMs);
    session.notify("notifications/cancelled", { requestId, ...(reason !== undefined && { reason }) });
    await rest();
  };
  await giveUp(9_000); // a person who changed their mind
  await giveUp(3_999, "Request timed out"); // too soon to be true
  await expectTicketAfter(served, session, 45_000);
  await giveUp(8_000, "McpError: MCP error -32001: Request timed out");
  await expectTicketAfter(served, session, 6_000);
  await giveUp(4_000, "timed out after 4s");
  await expectTicketAfter(served, session, 3_000);
  await expectTicketAfter(served, await InMemorySession.open(served.server, { principal: "bob" }), 45_000);
});

it.each([[1], [{ mine: "soon" }], [{ mine: -1 }], ["1m"], [{ mine: null }]])(
  "refuses %j as hostTimeoutsMs",
  (hostTimeoutsMs) => {
    expect(() => createTasks({ store: memoryStore(), hostTimeoutsMs: hostTimeoutsMs as never })).toThrow(
      "hostTimeoutsMs",
    );
  },
);
