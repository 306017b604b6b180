import { expect, it, vi } from "vitest";
import { operated, stores } from "./operated.ts";

const patient = { timeout: 20_000 };

it.each(Object.entries(stores))("shows operators what tasks.admin has, on %s", async (_, store) => {
  const { tasks, remote, ended, peer } = await operated({ store: await store() });
  const [ok, failed] = [await ended("ok"), await ended("fails")];
  const asking = await peer.start("asks");
  await peer.until(asking, "input_required");
  const [here, there] = [tasks.admin, remote()];

  expect(await there.list()).toEqual(await here.list());
  const queries = [
    { states: ["failed", "completed"] },
    { tool: "ok" },
    { principal: "carla", limit: 1 },
    { principal: null },
    { owner: "none" },
    { createdFrom: 1, createdBefore: Date.UTC(2100, 1) },
    { text: "100 % &=?" },
  ] as const;
  for (const query of queries) expect(await there.list(query)).toEqual(await here.list(query));
  const { next } = await there.list({ limit: 2 });
  expect((await there.list({ limit: 2, after: next ?? "" })).tasks).toMatchObject([{ id: ok }]);

  for (const id of [ok, failed, asking]) expect(await there.show(id)).toEqual(await here.show(id));
  expect(await there.counts()).toEqual(await here.counts());
  expect(await there.failures("fails")).toMatchObject([{ count: 1, taskId: failed }]);
  expect(await there.failures("fails", 1)).toEqual(await here.failures("fails", 1));
  await there.as("").cancel(asking);
  expect(await there.actions()).toEqual(await here.actions());
  expect(await there.actions({ taskId: asking, limit: 1, before: 1_000 })).toMatchObject([
    { actor: "ann", action: "cancel" },
  ]);
});

it.each(Object.entries(stores))("shows operators what its process reports, on %s", async (_, store) => {
  const { tasks, remote, ended, ask } = await operated({ store: await store() });
  for (const tool of ["ok", "fails", "fails"]) await ended(tool);
  expect(await ask("GET", "/counts", { token: "token-of-nobody" })).toMatchObject({ status: 401 });
  const there = remote();
  await vi.waitFor(async () => {
    const { tools, refusals, ...all } = await there.activity({ minutes: 10 });
    expect(tools.map(({ tool, created, failed }) => [tool, created, failed])).toEqual([
      ["fails", 2, 2],
      ["ok", 1, 0],
    ]);
    expect(refusals).toMatchObject([{ code: "unauthorized", method: null, count: 1 }]);
    expect(all.created).toHaveLength(10);
  }, patient);
  expect(await there.activity()).toEqual(await tasks.admin.activity());
  const nodes = await there.nodes();
  expect(nodes).toEqual(await tasks.admin.nodes());
  expect(nodes).toMatchObject([{ alive: true, pid: process.pid, running: 0 }]);
  await expect(there.activity({ minutes: 361 })).rejects.toMatchObject({ code: "invalid_params" });
});

it.each(Object.entries(stores))("lets operators act, and records who did, on %s", async (_, store) => {
  const { tasks, remote, ended, peer } = await operated({ store: await store() });
  const act = remote().as("nobody who counts");
  const before = Date.now();
  const [ok, failed] = [await ended("ok"), await ended("fails")];
  const [asking, endless] = [await peer.start("asks"), await peer.start("endless")];
  await peer.until(asking, "input_required");

  expect(await act.cancel(endless)).toMatchObject({ id: endless, state: "cancelled" });
  await act.answer(asking, { go: { action: "accept", content: {} } });
  expect(await peer.ended(asking)).toMatchObject({ status: "completed" });
  const again = await act.retry(failed, { arguments: {} });
  await vi.waitFor(async () => {
    expect(await tasks.admin.show(again.id)).toMatchObject({ state: "failed", retryOf: failed });
  }, patient);
  expect(await act.retry(ok, { keepUpTo: "work" })).toMatchObject({ tool: "ok" });
  const until = Date.now() + 3_600_000;
  expect(await act.extend(ok, until)).toMatchObject({ expiresAt: until });
  expect(await act.extend(ok, null)).toMatchObject({ expiresAt: null });
  await act.pause("ok");
  expect((await remote().counts()).tools).toContainEqual(
    expect.objectContaining({ tool: "ok", paused: { since: expect.any(Number) as number, actor: "ann" } }),
  );
  await act.resume("ok");
  await act.delete(again.id);
  await expect(tasks.admin.show(again.id)).rejects.toMatchObject({ code: "unknown_task" });
  const selection = { tool: "fails", states: ["failed"], retried: true } as const;
  expect(await act.bulk("delete", selection, { dryRun: true })).toMatchObject({ done: [failed] });
  expect(await act.bulk("extend", selection, { until, limit: 10 })).toMatchObject({ done: [failed] });
  expect(await act.bulk("delete", selection)).toMatchObject({ done: [failed], refused: [] });

  const actions = await tasks.admin.actions();
  expect(actions.map(({ action }) => action)).toEqual([
    "delete",
    "extend",
    "delete",
    "resume",
    "pause",
    "extend",
    "extend",
    "retry",
    "retry",
    "answer",
    "cancel",
  ]);
  for (const { actor, at } of actions) {
    expect(actor).toBe("ann");
    expect(at).toBeGreaterThanOrEqual(before);
    expect(at).toBeLessThanOrEqual(Date.now());
  }
});

it("gives back the errors of the server by their codes", async () => {
  const { tasks, remote, ended, peer, ask } = await operated();
  const [done, endless] = [await ended("ok"), await peer.start("endless")];
  const [here, there] = [tasks.admin.as("ann"), remote().as("ann")];
  const cases = [
    (act: typeof here) => act.cancel("none"),
    (act: typeof here) => act.cancel(done),
    (act: typeof here) => act.delete(endless),
    (act: typeof here) => act.retry(endless),
    (act: typeof here) => act.retry(done, { keepUpTo: "nothing" }),
    (act: typeof here) => act.answer(endless, { go: { action: "accept" } }),
    (act: typeof here) => act.extend(done, 1),
  ];
  for (const attempt of cases) {
    const refused: unknown = await attempt(here).catch((error: unknown) => error);
    const { code, message } = refused as { code: string; message: string };
    await expect(attempt(there)).rejects.toMatchObject({ name: "HoldfastError", code, message });
  }
  expect(await ask("POST", `/tasks/${done}/cancel`, { body: {} })).toMatchObject({
    status: 409,
    body: { error: { code: "finished", message: `Task ${done} has already ended.` } },
  });
});

it("takes ids and names of any characters", async () => {
  const { remote } = await operated();
  const [there, odd] = [remote(), "a/b ?#%2F&=ü💥"];
  await expect(there.show(odd)).rejects.toMatchObject({
    code: "unknown_task",
    message: `There is no task ${odd}.`,
  });
  await there.as("ann").pause(odd);
  expect((await there.counts()).tools).toMatchObject([{ tool: odd, paused: { actor: "ann" } }]);
  expect(await there.failures(odd)).toEqual([]);
  for (const id of ["", ".", "..", "\ud800"])
    await expect(there.show(id)).rejects.toMatchObject({ code: "unknown_task" });
  await expect(there.as("ann").pause("..")).rejects.toMatchObject({ code: "invalid_params" });
});
