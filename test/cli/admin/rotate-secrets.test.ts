import { describe, expect, it } from "vitest";
import { admin, adminJson, kinds, runAdmin, serve, somePlace } from "./some-place.ts";

describe.each(kinds)("on %s", (kind) => {
  it("replaces the secrets that servers have made, and says how long the old ones count", async () => {
    const place = await somePlace(kind);
    const runtime = await serve(place, () => undefined);
    expect(await admin(place, "rotate-secrets")).toBe("the store has no secrets yet\n");
    const { current: before } = await runtime.secret("request-state");
    const done = await adminJson(place, "rotate-secrets", "--accept", "1h");
    expect(done).toMatchObject({ secrets: ["request-state"], rekeyed: 0, left: [] });
    // It learns of it by itself.
    await expect.poll(async () => (await runtime.secret("request-state")).accepted).toHaveLength(2);
    expect(await admin(place, "rotate-secrets", "--accept", "0s")).toBe(
      "new: request-state; the old ones are now deleted\n",
    );
    await expect.poll(async () => (await runtime.secret("request-state")).accepted).toHaveLength(1);
    expect((await runtime.secret("request-state")).current).not.toEqual(before);
  });
});

it("takes a time, and a store's database", async () => {
  const place = await somePlace("SQLite");
  await (await serve(place, () => undefined)).stop();
  const wrong = await runAdmin(place, "rotate-secrets", "--accept", "soon");
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("--accept takes a duration")]);
  const remote = await runAdmin({ ...place, url: "https://example.com" }, "rotate-secrets");
  expect([remote.code, remote.stderr]).toEqual([2, expect.stringContaining("admin endpoint cannot do this")]);
});
