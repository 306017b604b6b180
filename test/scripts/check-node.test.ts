import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const script = fileURLToPath(new URL("../../scripts/check-node.js", import.meta.url));

async function output(userAgent: string): Promise<string> {
  const env = { ...process.env, npm_config_user_agent: userAgent };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [script], { env });
  return stdout + stderr;
}

it.each(["20.20.2", "22.17.9"])("says in one line that Node %s is too old", async (version) => {
  const text = await output(`npm/11.19.1 node/v${version} linux x64 workspaces/false`);
  expect(text).toMatch(/^Holdfast needs Node 22\.18 or later, and this is Node [\d.]+\. .*\n$/);
  expect(text).toContain(`Node ${version}`);
});

it.each(["npm/11.5.1 node/v22.18.0 linux x64", "npm/11.19.1 node/v24.21.0 linux x64", ""])(
  "says nothing to %j",
  async (userAgent) => {
    expect(await output(userAgent)).toBe("");
  },
);
