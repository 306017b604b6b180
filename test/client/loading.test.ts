import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const program = `
  import { registerHooks } from "node:module";
  const loaded = [];
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      loaded.push(resolved.url);
      return resolved;
    },
  });
  await import("holdfast/client");
  console.log(JSON.stringify(loaded));
`;

it("loads no runtime and no store for a client that receives no tasks", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  const loaded = JSON.parse(stdout) as string[];
  expect(loaded.some((url) => url.endsWith("/dist/client/connect.js"))).toBe(true);
  const others = loaded.filter((url) => /\/dist\/(?:runtime|store|server)\/|sqlite/.test(url));
  // These are small, load nothing themselves, and are the same for all.
  const shared = /\/runtime\/(?:error-reporter|concurrency-limit)\.js$/;
  expect(others.filter((url) => !shared.test(url))).toEqual([]);
});
