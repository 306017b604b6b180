import { expect, it } from "vitest";
import { encryptedStore } from "../../../src/store/encrypted-store.ts";
import { runMain } from "../run-main.ts";
import { change } from "./change-rows.ts";
import { call, serve, somePlace } from "./some-place.ts";

const keyOf = (id: string, byte: number): string => `${id}:${Buffer.alloc(32, byte).toString("base64")}`;
const [first, second] = [keyOf("k1", 1), keyOf("k2", 2)];

it("encrypts a store in clear, says how much, and then works with the new key alone", async () => {
  const place = await somePlace("SQLite");
  const { url, cwd } = place;
  const runtime = await serve(place, (tools) => tools.add("work", {}, () => ({ content: [] })));
  const id = await call(runtime, "work");
  await runtime.stop();
  const run = (keys: string | undefined, ...words: readonly string[]) =>
    runMain(["admin", url, ...words], {
      cwd,
      env: keys === undefined ? {} : { HOLDFAST_ENCRYPTION_KEYS: keys },
    });
  expect(await run(undefined, "reseal")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("HOLDFAST_ENCRYPTION_KEYS") as string,
  });
  const { code, stdout } = await run(first, "reseal", "--json");
  expect([code, JSON.parse(stdout)]).toMatchObject([
    0,
    { rows: { task: 1, request: 1 }, left: {}, isStrict: true },
  ]);
  expect((await run(undefined, "show", id)).stdout).toContain("(encrypted)");
  const listed = await run(`${second},${first}`, "keys");
  const texts = "secret 1, task 2, request 1, outcome 1";
  expect(listed).toMatchObject({ code: 0, stdout: `k2\tyes\t0\t\nk1\tyes\t5\t${texts}\n` });
  expect(JSON.parse((await run(undefined, "keys", "--json")).stdout)).toMatchObject({
    keys: [{ id: "k1", isGiven: false, texts: { request: expect.any(Number) as number } }],
    unopened: { task: 1, request: 1 },
  });
  expect(await run(`${second},${first}`, "reseal")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^rows sealed:\n(.+\n)*request 1$/m) as string,
  });
  expect(await run(second, "reseal")).toMatchObject({
    code: 0,
    stdout: "everything is sealed with the first key\n",
  });
  await (
    await serve({ ...place, store: () => encryptedStore(place.store(), { keys: second }) }, () => undefined)
  ).stop();
  await change(place, "UPDATE request SET arguments = '{}'");
  expect(await run(second, "reseal")).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("cannot be opened and stay as they are: request 1") as string,
  });
});
