import { expect, it } from "vitest";
import { bodyOf, Process, text, type Handler } from "../runtime/harness.ts";
import { adminOf } from "./operator.ts";

const question = { message: "Go on?", requestedSchema: { type: "object" as const, properties: {} } };

/** A task whose child asks. */
async function family(): Promise<{ process: Process; parent: string; child: string }> {
  const parentTool: Handler = (_args, task) => task.call("child", "asks", {});
  const asks: Handler = async (_args, task) => text((await task.elicit("go", question)).action);
  const process = await Process.started({ tools: { parent: parentTool, asks } });
  const parent = await process.callId("parent");
  await process.asked(parent);
  const { tasks } = await adminOf(process).list({ tool: "asks" });
  return { process, parent, child: tasks[0]?.id ?? "" };
}

it("answers what a child asks, by either of the two", async () => {
  for (const by of ["parent", "child"] as const) {
    const { process, ...ids } = await family();
    const admin = adminOf(process);
    const { questions } = await admin.show(ids[by]);
    await admin.as("ann").answer(ids[by], { [questions[0]?.key ?? ""]: { action: "decline" } });
    expect(bodyOf(await process.ended(ids.parent))).toMatchObject(text("decline"));
  }
});

it("cancels a parent with its children, and a child whose parent hears of it", async () => {
  const one = await family();
  const admin = adminOf(one.process);
  await admin.as("ann").cancel(one.parent);
  await one.process.clock.advance(60_000);
  const { tasks } = await admin.list();
  // The child stays with its parent, so that a retry of the parent can go on from there.
  expect(new Map(tasks.map(({ id, state }) => [id, state]))).toEqual(
    new Map([
      [one.parent, "cancelled"],
      [one.child, "cancelled"],
    ]),
  );
  const other = await family();
  await adminOf(other.process).as("ann").cancel(other.child);
  await other.process.ended(other.parent);
  expect(await adminOf(other.process).show(other.parent)).toMatchObject({ state: "failed" });
});

it("takes times between two milliseconds", async () => {
  const { process, parent } = await family();
  const at = (await process.get(parent)).task.createdAt;
  const of = async (query: object): Promise<number> =>
    (await adminOf(process).list({ tool: "parent", ...query })).tasks.length;
  expect(await of({ createdBefore: at + 0.5 })).toBe(1);
  expect(await of({ createdFrom: at + 0.5 })).toBe(0);
  expect(await of({ createdFrom: at - 0.5, createdBefore: at + 1 })).toBe(1);
});
