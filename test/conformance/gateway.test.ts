import type { UpstreamToolOptions } from "holdfast/serve";
import { mcpUpstream } from "holdfast/serve";
import { expect, it } from "vitest";
import { gateway } from "../serve/mcp/gateway.ts";
import { EverythingServer } from "./everything-server.ts";
import { complaints, runSuite } from "./suite.ts";

/** What the everything server runs as tasks. The rest of its tools answer at once, and are passed on. */
const durable: Readonly<Record<string, UpstreamToolOptions>> = {
  append_lines: {},
  ask_model: {},
  confirm_delete: {},
  failing_job: { task: "required" },
  ignores_cancel: {},
  multi_input: {},
  never_ends: {},
  not_idempotent: {},
  progress_to: {},
  protocol_error_job: {},
  slow_compute: {},
  test_tool_with_task: { asksFirst: true, task: "required" },
};

it.each([
  { revision: "2026-07-28", scenarios: 50 },
  { revision: "2025-11-25", scenarios: 33 },
] as const)(
  "is no worse with a gateway before the server, in all that $revision requires",
  { timeout: 280_000 },
  async ({ revision, scenarios }) => {
    const server = new EverythingServer();
    try {
      const tools = Object.fromEntries(
        Object.entries(durable).map(([name, options]) => [name, { durable: true, ...options }]),
      );
      const upstream = mcpUpstream("everything", {
        url: await server.url,
        protocolVersion: revision,
        durable: false,
        tools,
      });
      const { url, errors } = await gateway([upstream]);
      const findings = await runSuite(url, "--requirements", revision);
      // Without a gateway there are none, either: the suite skips what it skips for every server.
      expect(complaints(findings).filter((each) => !each.includes(" SKIPPED: "))).toEqual([]);
      expect(findings.exitCode).toBe(0);
      expect(findings.scenarios.size).toBeGreaterThanOrEqual(scenarios);
      expect(errors).toEqual([]);
    } finally {
      await server.stop();
    }
  },
);
