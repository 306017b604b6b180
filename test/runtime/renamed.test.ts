import { describe, expect, it } from "vitest";
import { wholeJournal } from "../../src/testing/sample-task.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";

const question = { message: "Go on?", requestedSchema: { type: "object" as const, properties: {} } };

const tools = (report: Handler) => ({ tools: { report } });

async function keysOf({ store }: Process, id: string): Promise<readonly string[]> {
  return (await wholeJournal(store, id)).map(({ key }) => key).toSorted();
}

/** Fetches the rows, asks, and sends; each under the name that the code has for it. */
const report =
  (
    names: Readonly<Record<"rows" | "page" | "go" | "paid", string>>,
    renames: Readonly<Record<string, string>> = {},
  ) =>
  (ran: string[] = []): Handler =>
  async (_args, task) => {
    task.renamed(renames);
    const rows = await task.step(names.rows, ({ idempotencyKey }) => {
      ran.push(idempotencyKey);
      return 2;
    });
    for (let page = 0; page < rows; page++)
      await task.step([names.page, page], ({ idempotencyKey }) => void ran.push(idempotencyKey));
    const { action } = await task.elicit(names.go, question);
    const paid = await task.waitForEvent(names.paid, "paid");
    return text(`${action} ${String(paid)}`);
  };

const before = { rows: "rows", page: "page", go: "go", paid: "paid" };
const after = { rows: "records", page: "sheet", go: "ready", paid: "payment" };
const renames = { rows: "records", page: "sheet", go: "ready", paid: "payment" };

describe("task.renamed", () => {
  it("lets a task go on under the keys that it began with", async () => {
    const ran: string[] = [];
    const first = await Process.started(tools(report(before)(ran)));
    const id = await first.callId("report");
    await first.asked(id);
    const keys = await keysOf(first, id);
    const second = await first.restart({ ...tools(report(after, renames)(ran)), onEvent: true });
    await second.answer(id, "go", { action: "accept" });
    await second.journalHas(id, "payment"); // it had not begun yet
    await second.runtime.sendEvent(id, { name: "paid", value: 42 });
    expect(bodyOf(await second.ended(id))).toEqual(text("accept 42"));
    expect(ran).toHaveLength(3);
    expect(await keysOf(second, id)).toEqual([...keys, "payment"].toSorted());
    expect(second.events.map(({ type }) => type)).not.toContain("task.unreached");
    expect(second.errors).toEqual([]);
  });

  it("gives new tasks the new keys", async () => {
    const process = await Process.started(tools(report(after, renames)()));
    const id = await process.callId("report");
    await process.asked(id);
    expect(await keysOf(process, id)).toEqual(['["sheet",0]', '["sheet",1]', "ready", "records"]);
  });

  it("keeps the idempotency key of a step that is tried again", async () => {
    const keys: string[] = [];
    const flaky =
      (key: string, fails: boolean): Handler =>
      async (_args, task) => {
        task.renamed(key === "send" ? {} : { send: key });
        await task.step(key, { retries: 3, backoff: { firstMs: 60_000 } }, ({ idempotencyKey }) => {
          keys.push(idempotencyKey);
          if (fails) throw new Error("not yet");
        });
        return text("sent");
      };
    const first = await Process.started(tools(flaky("send", true)));
    const id = await first.callId("report");
    await first.journalHas(id, "send");
    const second = await first.restart(tools(flaky("post", false)));
    await second.clock.advance(120_000);
    await second.ended(id);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  it("takes a key that was renamed twice, by whichever name the task has", async () => {
    const named =
      (key: string, old: Readonly<Record<string, string>>): Handler =>
      async (_args, task) => {
        task.renamed(old);
        const first = await task.step(key, () => key);
        await task.elicit("go", question);
        return text(first);
      };
    const names = [named("a", {}), named("b", { a: "b" }), named("c", { a: "c", b: "c" })];
    let process = await Process.started({ tools: {} });
    const ids: string[] = [];
    for (const handler of names) {
      process = await process.restart(tools(handler));
      ids.push(await process.callId("report"));
      for (const id of ids) await process.asked(id);
    }
    for (const id of ids) await process.answer(id, "go", { action: "accept" });
    const bodies = await Promise.all(ids.map(async (id) => bodyOf(await process.ended(id))));
    expect(bodies).toEqual([text("a"), text("b"), text("c")]);
  });

  const misuses: readonly (readonly [string, Handler, string])[] = [
    [
      "an old name that is still used",
      async (_args, task) => {
        task.renamed({ a: "b" });
        return text(await task.step("a", () => "a"));
      },
      '"a" has the old name of "b". Use the new one.',
    ],
    [
      "a name that is used already",
      async (_args, task) => {
        await task.step(["b", 1], () => "b");
        task.renamed({ a: "b" });
        return text("");
      },
      '"b" is used already. Rename it before its first use.',
    ],
    [
      "a chain",
      (_args, task) => {
        task.renamed({ a: "b", b: "c" });
        return text("");
      },
      '"b" is a new name and an old one. Map each old name to the newest one.',
    ],
    [
      "another name for what was renamed",
      (_args, task) => {
        task.renamed({ a: "b" });
        task.renamed({ a: "b" });
        task.renamed({ a: "c" });
        return text("");
      },
      '"a" is renamed twice.',
    ],
    [
      "something that is no name",
      (_args, task) => {
        task.renamed({ a: 5 as never });
        return text("");
      },
      'task.renamed needs a name for "a".',
    ],
  ];

  it.each(misuses)("refuses %s", async (_, handler, problem) => {
    const process = await Process.started(tools(handler));
    const { outcome } = await process.ended(await process.callId("report"));
    expect(outcome?.body).toContain(JSON.stringify(problem).slice(1, -1));
  });
});
