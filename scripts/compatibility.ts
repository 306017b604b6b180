// Makes docs/reference/compatibility.md from the records of `npm run test:peers`: npm run docs:compatibility
import { readdir, readFile, writeFile } from "node:fs/promises";
import { format } from "prettier";
import type { PeerFacts } from "../test/peers/record/peer-facts.ts";

const folder = new URL("../test/peers/facts/", import.meta.url);

/** All records. */
export async function readFacts(): Promise<PeerFacts[]> {
  const files = (await readdir(folder)).filter((name) => name.endsWith(".json")).toSorted();
  return Promise.all(
    files.map(async (name) => JSON.parse(await readFile(new URL(name, folder), "utf8")) as PeerFacts),
  );
}

/** The page about third-party programs. */
export function renderCompatibility(facts: readonly PeerFacts[]): Promise<string> {
  const page = `<!-- Made from test/peers/facts by \`npm run docs:compatibility\`. Do not edit. -->

# Compatibility

How programs that others wrote work with Holdfast. \`npm run test:peers\` runs each of them at the version that
\`test/peers/clients/package.json\` or [that of this repository](../../package.json) pins. Each entry in the last two columns is the title of a
test that passed, and a run with any other result fails. The owner, in parentheses, is who would have to change what does not work.
\`npm run test:peers -- -u\` records the results of a run, and \`npm run docs:compatibility\` makes this page from them.

[Hosts and client libraries](hosts.md) says how long clients wait for a call, and what to set. [Protocols](../learn/protocols.md)
says which form of tasks belongs to which version of the protocol.

## Clients

These clients call a Holdfast server. The SDKs are used without their tasks here; \`test/interop\` runs them with tasks, and with the package \`ext-tasks\`.

${table("client", facts)}

## Servers

Holdfast's client and command line call these servers. On this page, both are “ours”.

${table("server", facts)}
`;
  return format(page, { parser: "markdown", printWidth: 110 });
}

function table(as: PeerFacts["as"], facts: readonly PeerFacts[]): string {
  const rows = merged(facts.filter((each) => each.as === as));
  return [
    `| ${as} | package | protocol version | works | does not work (owner) |`,
    "| --- | --- | --- | --- | --- |",
    ...rows.map(
      ({ peer, package: name, version, protocol, works, lacks }) =>
        `| ${peer} | \`${name}\` ${version} | ${protocol} | ${works.join("<br>")} | ${lacks
          .map(({ what, owner }) => `${what} (${owner})`)
          .join("<br>")} |`,
    ),
  ].join("\n");
}

/** One row for the records of several test files about the same peer in the same protocol version. */
function merged(facts: readonly PeerFacts[]): PeerFacts[] {
  const rows = new Map<string, PeerFacts>();
  for (const each of facts) {
    const key = [each.peer, each.protocol].join(" ");
    const row = rows.get(key) ?? { ...each, works: [], lacks: [] };
    rows.set(key, { ...row, works: [...row.works, ...each.works], lacks: [...row.lacks, ...each.lacks] });
  }
  return [...rows.values()];
}

// Not when a test imports this.
if (import.meta.main) {
  await writeFile(
    new URL("../docs/reference/compatibility.md", import.meta.url),
    await renderCompatibility(await readFacts()),
  );
}
