import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fullForm } from "../../full-form.ts";
import { onPostgres, placeInPostgres, type Place } from "../../places/place.ts";
import { EverythingServer } from "../everything-server.ts";
import { SpoilingProxy } from "./spoiling-proxy.ts";
import { Tasks20251125Scenario } from "./tasks-2025-11-25.ts";
import { TasksInput20251125Scenario } from "./tasks-input-2025-11-25.ts";
import { TasksStatusNotificationsScenario } from "./tasks-status-notifications.ts";
import type { CheckStatus, ClientScenario } from "./types.ts";

const scenarios: Readonly<Record<string, ClientScenario>> = {
  tasks: new Tasks20251125Scenario(),
  input: new TasksInput20251125Scenario(),
  notifications: new TasksStatusNotificationsScenario(),
};

type Fault = readonly [
  fault: string,
  scenario: string,
  spoil: (text: string) => string,
  found: Readonly<Record<string, CheckStatus>>,
];

const missing = "no such value";

function withRelatedTask(text: string): string {
  return text.replaceAll('"_meta":{', '"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"x"},');
}

/** What a server may do wrong, and which checks find it. */
const faults: readonly Fault[] = [
  [
    "tasks of no tool calls",
    "tasks",
    (text) => text.replace('"call":{}', '"calls":{}'),
    { "sep-1686-capability": "FAILURE" },
  ],
  [
    "tools without taskSupport",
    "tasks",
    (text) => text.replaceAll('"taskSupport"', '"supportsTasks"'),
    { "sep-1686-tool-support": "FAILURE" },
  ],
  [
    "tasks without a ttl",
    "tasks",
    (text) => text.replaceAll('"ttl":', '"ttlMs":'),
    {
      "sep-1686-create": "FAILURE",
      "sep-1686-get": "FAILURE",
      "sep-1686-cancel": "FAILURE",
      "sep-1686-list": "FAILURE",
    },
  ],
  [
    "results that name another task",
    "tasks",
    (text) => text.replaceAll('"io.modelcontextprotocol/related-task"', `"${missing}"`),
    { "sep-1686-result-related": "FAILURE" },
  ],
  [
    "results of another call",
    "tasks",
    (text) =>
      text.includes("related-task")
        ? text.replaceAll("conformance: ", "another: ").replaceAll('"isError":true', '"isError":false')
        : text,
    { "sep-1686-result": "FAILURE", "sep-1686-tool-error": "FAILURE" },
  ],
  [
    "another code for what is not there",
    "tasks",
    (text) => text.replaceAll("-32602", "-32600"),
    {
      "sep-1686-unknown-get": "FAILURE",
      "sep-1686-unknown-result": "FAILURE",
      "sep-1686-unknown-cancel": "FAILURE",
      "sep-1686-cancel-ended": "FAILURE",
      "sep-1686-list-cursor": "FAILURE",
    },
  ],
  [
    "another code for tools that want it otherwise",
    "tasks",
    (text) => text.replaceAll("-32601", "-32600"),
    { "sep-1686-required-tool": "FAILURE", "sep-1686-forbidden-tool": "WARNING" },
  ],
  [
    "failures that are completed",
    "tasks",
    (text) => text.replaceAll('"status":"failed"', '"status":"completed"').replaceAll("4001", "4002"),
    { "sep-1686-tool-error-status": "WARNING", "sep-1686-protocol-error": "FAILURE" },
  ],
  [
    "tasks that work for ever",
    "tasks",
    (text) =>
      text
        .replaceAll('"status":"completed"', '"status":"working"')
        .replaceAll('"status":"cancelled"', '"status":"working"'),
    { "sep-1686-result-waits": "FAILURE", "sep-1686-cancel": "FAILURE", "sep-1686-cancel-ended": "FAILURE" },
  ],
  [
    "metadata where it does not belong",
    "tasks",
    (text) => (text.includes('"status"') ? withRelatedTask(text) : text),
    { "sep-1686-get-unrelated": "WARNING" },
  ],
  [
    "questions that name no task",
    "input",
    (text) => text.replaceAll('"io.modelcontextprotocol/related-task"', `"${missing}"`),
    { "sep-1686-input-related": "FAILURE", "sep-1686-input-result": "FAILURE" },
  ],
  [
    "a task that asks while it works",
    "input",
    (text) => text.replaceAll('"input_required"', '"working"'),
    { "sep-1686-input-required": "WARNING" },
  ],
  [
    "notifications with less than a task",
    "input",
    (text) =>
      text.includes("notifications/tasks/status") ? text.replaceAll('"createdAt"', `"${missing}"`) : text,
    { "sep-1686-status-notification": "FAILURE" },
  ],
  [
    "notifications with metadata",
    "input",
    (text) => (text.includes("notifications/tasks/status") ? withRelatedTask(text) : text),
    { "sep-1686-status-unrelated": "WARNING" },
  ],
  [
    "an acknowledgement of all",
    "notifications",
    (text) =>
      text.includes("acknowledged") ? text.replace('"taskIds":[', '"taskIds":["no-such-task",') : text,
    { "sep-2663-listen-acknowledged": "FAILURE" },
  ],
  [
    "tasks that are pushed without their result",
    "notifications",
    (text) =>
      text.includes('"notifications/tasks"')
        ? text.replaceAll('"result"', `"${missing}"`).replaceAll('"inputRequests"', `"${missing}"`)
        : text,
    { "sep-2663-listen-completed": "FAILURE", "sep-2663-listen-input": "FAILURE" },
  ],
  [
    "tasks of another time",
    "notifications",
    (text) =>
      text.includes('"notifications/tasks"') ? text.replaceAll('"createdAt":"20', '"createdAt":"19') : text,
    { "sep-2663-listen-cancelled": "FAILURE", "sep-2663-listen-completed": "FAILURE" },
  ],
  [
    "messages of another subscription",
    "notifications",
    (text) => text.replaceAll('subscriptionId":77', 'subscriptionId":78'),
    { "sep-2663-listen-subscription": "FAILURE" },
  ],
  [
    "progress where there is none",
    "notifications",
    (text) =>
      text.replace(
        /(?<=\n\n|^)(?=(?:id: .*\n)?(?:event: .*\n)?data: .*"notifications\/tasks")/,
        'data: {"jsonrpc":"2.0","method":"notifications/progress"}\n\n',
      ),
    { "sep-2663-listen-tasks-only": "FAILURE" },
  ],
  [
    "another code without the extension",
    "notifications",
    (text) => text.replaceAll("-32021", "-32601"),
    { "sep-2663-listen-undeclared": "FAILURE" },
  ],
];

describe("the scenarios for what the public suite leaves out", { timeout: 60_000 }, () => {
  let server: EverythingServer;
  let place: Place | undefined;
  let url = "";
  beforeAll(async () => {
    if (onPostgres) place = await placeInPostgres();
    server = new EverythingServer(place && { env: { HOLDFAST_STORE: place.at } });
    url = await server.url;
  });
  afterAll(async () => {
    const { code, stderr } = await server.stop();
    await place?.remove();
    expect(code).toBe(0);
    expect(stderr).toBe("");
  });

  /** The ids of checks by status, with why they are not a success. */
  async function run(name: string, spoil = (text: string): string => text): Promise<Map<string, string>> {
    await using proxy = await SpoilingProxy.before(url, spoil);
    const specVersion = name === "notifications" ? "2026-07-28" : "2025-11-25";
    const checks = await scenarios[name]?.run({ serverUrl: proxy.url, specVersion });
    return new Map(
      checks?.map(({ id, status, errorMessage }) => [id, `${status} ${errorMessage ?? ""}`.trim()]),
    );
  }

  it.concurrent.each(Object.keys(scenarios))("finds nothing in the everything server: %s", async (name) => {
    const found = await run(name);
    expect(found.size).toBeGreaterThan(4);
    expect([...found].filter(([, status]) => status !== "SUCCESS")).toEqual([]);
  });

  it.concurrent.each(Object.keys(scenarios))(
    "fails nothing, and skips all, without tasks: %s",
    async (name) => {
      const found = await run(name, (text) =>
        text.replace('"tasks":{', '"no":{').replaceAll('"io.modelcontextprotocol/tasks":', '"no":'),
      );
      expect([...found.values()].filter((status) => !status.startsWith("SKIPPED"))).toEqual([]);
    },
  );

  it.runIf(fullForm).concurrent.each(faults)("finds %s", async (_, name, spoil, wanted) => {
    const found = await run(name, spoil);
    const statuses = Object.keys(wanted).map((id) => [id, found.get(id)?.split(" ")[0]]);
    expect(Object.fromEntries(statuses)).toEqual(wanted);
  });

  it("can fail each check", async () => {
    const made = await Promise.all(Object.keys(scenarios).map((name) => run(name)));
    const found = faults.flatMap(([, , , wanted]) => Object.keys(wanted));
    // A server without the extension is skipped, and not at fault.
    found.push("sep-2663-listen-extension");
    expect(made.flatMap((checks) => [...checks.keys()]).filter((id) => !found.includes(id))).toEqual([]);
  });
});
