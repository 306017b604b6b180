import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { onPostgres, placeInPostgres, type Place } from "../places/place.ts";
import { EverythingServer } from "./everything-server.ts";
import { complaints, runSuite, scenariosFor } from "./suite.ts";

const revision = "2026-07-28";

const tasksScenarios = [
  "tasks-lifecycle",
  "tasks-capability-negotiation",
  "tasks-wire-fields",
  "tasks-request-state-removal",
  "tasks-mrtr-input",
  "tasks-request-headers",
  "tasks-dispatch-and-envelope",
  "tasks-status-notifications",
  "tasks-required-task-error",
  "tasks-mrtr-composition",
];

/** Skipped by the suite itself, whatever the server does; ours/ has a scenario for what it leaves out. */
const skippedBySuite = [
  "tasks-status-notifications: tasks-status-notifications SKIPPED: Status notifications conformance, pending subscriptions/listen rewrite.",
];

const required = await scenariosFor("server", revision);
/** Run and not scored, beside those of tasks. */
const unscored = ["json-schema-2020-12", "http-header-validation", "http-custom-header-server-validation"];

const earlier = "2025-11-25";
const requiredEarlier = await scenariosFor("server", earlier);
/** Run and not scored: written after that revision, or not settled. */
const unscoredEarlier = ["server-session-lifecycle", "json-schema-2020-12", "server-sse-polling"];

/** The extension io.modelcontextprotocol/skills is for servers that offer skills; Holdfast has none to offer. */
const notApplicable = ["directory", "enumeration", "manifest"].map((rule) => `sep-2640-skills-${rule}`);

it("knows all server scenarios of the public conformance suite", { timeout: 120_000 }, async () => {
  const known = new Set([
    ...required,
    ...unscored,
    ...tasksScenarios,
    ...requiredEarlier,
    ...unscoredEarlier,
    ...notApplicable,
  ]);
  expect((await scenariosFor("server")).toSorted()).toEqual([...known].toSorted());
});

describe("the public conformance suite", { timeout: 120_000 }, () => {
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

  // One run for all of them: a process for each scenario takes minutes and tells no more.
  it(`finds nothing in all that ${revision} requires, nor in what it only looks at`, async () => {
    const findings = await runSuite(url, "--requirements", revision);
    expect(complaints(findings)).toEqual(skippedBySuite);
    expect(findings.exitCode).toBe(0);
    const expected = [...required, ...tasksScenarios, ...unscored];
    expect([...findings.scenarios.keys()].toSorted()).toEqual(expected.toSorted());
    expect(required.length).toBe(37);
  });

  it(`finds nothing in all that ${earlier} requires, nor in what it only looks at`, async () => {
    const findings = await runSuite(url, "--requirements", earlier);
    expect(complaints(findings)).toEqual([]);
    expect(findings.exitCode).toBe(0);
    expect([...findings.scenarios.keys()].toSorted()).toEqual(
      [...requiredEarlier, ...unscoredEarlier].toSorted(),
    );
    expect(requiredEarlier.length).toBe(30);
  });
});
