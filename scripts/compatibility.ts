// Makes docs/compatibility.md from what `npm run test:peers` has recorded: npm run docs:compatibility
import { readdir, readFile, writeFile } from "node:fs/promises";
import { format } from "prettier";
import type { PeerFacts } from "../test/peers/record/peer-facts.ts";

const folder = new URL("../test/peers/facts/", import.meta.url);

/** All that is recorded. */
export async function readFacts(): Promise<PeerFacts[]> {
  const files = (await readdir(folder)).filter((name) => name.endsWith(".json")).toSorted();
  return Promise.all(
    files.map(async (name) => JSON.parse(await readFile(new URL(name, folder), "utf8")) as PeerFacts),
  );
}

/** The page about programs that others wrote. */
export function renderCompatibility(facts: readonly PeerFacts[]): Promise<string> {
  const page = `<!-- Made from test/peers/facts by \`npm run docs:compatibility\`. Do not edit. -->

# Compatibility

Programs that others wrote, as \`npm run test:peers\` runs them against Holdfast: each at the version that
[their package](../test/peers/clients/package.json) or [that of this repository](../package.json) pins. Each entry under **works** and **does not** is the title of a test that passed: a
run that shows anything else fails. \`npm run test:peers -- -u\` records what it shows, and \`npm run docs:compatibility\` makes this page of it.

How long clients wait for a call, and what to set, is in [hosts and client libraries](guides/hosts.md); which
form of tasks goes with which version of the protocol, in [protocols](guides/protocols.md).

## Clients

They call a Holdfast server. The SDKs are used plainly here; with their tasks, and with the package \`ext-tasks\`, they are run by \`test/interop\`.

${table("client", facts)}

## Servers

They are called by Holdfast's client and command line.

${table("server", facts)}
`;
  return format(page, { parser: "markdown", printWidth: 110 });
}

function table(as: PeerFacts["as"], facts: readonly PeerFacts[]): string {
  const rows = merged(facts.filter((each) => each.as === as));
  return [
    `| ${as} | package | speaks | works | does not, and whose matter that is |`,
    "| --- | --- | --- | --- | --- |",
    ...rows.map(
      ({ peer, package: name, version, protocol, works, lacks }) =>
        `| ${peer} | \`${name}\` ${version} | ${protocol} | ${works.join("<br>")} | ${lacks
          .map(({ what, whose }) => `${what} (${whose})`)
          .join("<br>")} |`,
    ),
  ].join("\n");
}

/** One row of what several test files recorded of the same peer in the same version of the protocol. */
function merged(facts: readonly PeerFacts[]): PeerFacts[] {
  const rows = new Map<string, PeerFacts>();
  for (const each of facts) {
    const key = [each.peer, each.protocol].join(" ");
    const row = rows.get(key) ?? { ...each, works: [], lacks: [] };
    rows.set(key, { ...row, works: [...row.works, ...each.works], lacks: [...row.lacks, ...each.lacks] });
  }
  return [...rows.values()];
}

// Not where a test imports this.
if (import.meta.main) {
  await writeFile(
    new URL("../docs/compatibility.md", import.meta.url),
    await renderCompatibility(await readFacts()),
  );
}
