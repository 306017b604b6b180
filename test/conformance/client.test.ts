import { describe, expect, it } from "vitest";
import { root } from "./everything-server.ts";
import { complaints, runClientSuite, scenariosFor, type Findings } from "./suite.ts";

const revisions = ["2026-07-28", "2025-11-25"] as const;

/** Run with the requirements of a revision, and not scored: extensions, and what was written after it. */
const unscored = [
  "auth/client-credentials-jwt",
  "auth/client-credentials-basic",
  "auth/enterprise-managed-authorization",
  "auth/dpop",
  "auth/dpop-nonce",
  "auth/wif-jwt-bearer",
  "json-schema-2020-12-preservation",
];

/** Required by no revision that has requirements: logins as 2025-03-26 had them. */
const ofEarlierRevisions = [
  "auth/2025-03-26-oauth-metadata-backcompat",
  "auth/2025-03-26-oauth-endpoint-fallback",
];

/** What does not apply to this client, and why. */
const notApplicable: ReadonlyMap<string, string> = new Map(
  ["no-prefetch", "verify-digest", "verify-size", "verify-frontmatter"].map((rule) => [
    `sep-2640-client-${rule}`,
    "The extension io.modelcontextprotocol/skills is for hosts that load skills into a model; this client has no model, and does not declare it.",
  ]),
);

/** Not run by the suite, by revision and for want of what it would look at: 2026-07-28 has no handshake. */
const skippedBySuite: Readonly<Record<string, readonly string[]>> = {
  "2026-07-28": ["initialize", "notifications/initialized"].map(
    (method) =>
      `http-standard-headers: sep-2243-client-includes-standard-headers SKIPPED: Client sends correct Mcp-Method header on ${method} request`,
  ),
};

function run(...args: readonly string[]): Promise<Findings> {
  return runClientSuite(`${root}test/everything-client/main.ts`, ...args);
}

/** By force, since no revision has extensions: without it the suite would run nothing and be content. */
function runAlone(revision: string, scenario: string): Promise<Findings> {
  return run("--spec-version", revision, "--force", "--scenario", scenario);
}

/** The suite starts all clients of `--requirements` at once, and some wait for longer than a scenario allows. What counts is what they do alone. */
async function faultsAlone(revision: string, findings: Findings): Promise<string[]> {
  const faults: string[] = [];
  for (const [scenario, checks] of findings.scenarios) {
    if (unskipped(revision, { ...findings, scenarios: new Map([[scenario, checks]]) }).length === 0) continue;
    faults.push(...unskipped(revision, await runAlone(revision, scenario)));
  }
  return faults;
}

function unskipped(revision: string, findings: Findings): string[] {
  const skipped = skippedBySuite[revision] ?? [];
  return complaints(findings).filter((complaint) => !skipped.includes(complaint));
}

describe("the client side of the public conformance suite", { timeout: 300_000 }, () => {
  it("knows all scenarios that there are", async () => {
    const required = await Promise.all(revisions.map((revision) => scenariosFor("client", revision)));
    expect(required.map(({ length }) => length)).toEqual([32, 18]);
    const known = new Set([...required.flat(), ...unscored, ...ofEarlierRevisions, ...notApplicable.keys()]);
    expect((await scenariosFor("client")).toSorted()).toEqual([...known].toSorted());
  });

  it.each(revisions)(
    "finds nothing in all that %s requires, nor in what it only looks at",
    async (revision) => {
      const findings = await run("--requirements", revision);
      const expected = [...(await scenariosFor("client", revision)), ...unscored];
      expect([...findings.scenarios.keys()].toSorted()).toEqual(expected.toSorted());
      expect(await faultsAlone(revision, findings)).toEqual([]);
    },
  );

  it.each(ofEarlierRevisions)("finds nothing in %s", async (scenario) => {
    const findings = await runAlone("2025-03-26", scenario);
    expect(complaints(findings)).toEqual([]);
    expect(findings.exitCode).toBe(0);
  });

  it("finds fault with a program that is no client", async () => {
    const findings = await runClientSuite(`${root}test/full-form.ts`, "--scenario", "tools_call");
    expect(findings.exitCode).toBe(1);
    expect(complaints(findings).length).toBeGreaterThan(0);
  });
});
