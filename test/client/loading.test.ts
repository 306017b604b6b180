import { expect, it } from "vitest";
import { loadedModules } from "../loaded-modules.ts";

it("loads no runtime and no store for a client that receives no tasks", async () => {
  const loaded = await loadedModules('await import("holdfast/client");');
  expect(loaded.some((url) => url.endsWith("/src/client/connect.ts"))).toBe(true);
  const others = loaded.filter((url) => /\/src\/(?:runtime|store|server)\/|sqlite/.test(url));
  // These are small, load nothing themselves, and are the same for all.
  const shared = /\/runtime\/(?:error-reporter|concurrency-limit|own-context|replace-file|wait-for)\.ts$/;
  expect(others.filter((url) => !shared.test(url))).toEqual([]);
});
