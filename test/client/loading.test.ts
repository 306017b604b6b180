import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("loads no database for a client that takes no tasks", async () => {
  const program = `import "holdfast/client"; console.log(process.moduleLoadList.join());`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  expect(stdout).toContain("NativeModule");
  expect(stdout).not.toMatch(/sqlite/);
});
