// Makes docs/reference/compatibility.md from the records of `npm run test:peers`: npm run docs:compatibility
import { readdir, readFile, writeFile } from "node:fs/promises";
import { format } from "prettier";
import { outcomes, type MisbehaviourFacts, type Outcome } from "../test/peers/misbehaviour/outcomes.ts";
import type { PeerFacts } from "../test/peers/record/peer-facts.ts";

const folder = new URL("../test/peers/facts/", import.meta.url);
const ofMisbehaviour = "misbehaviour.json";

/** All records of peers. */
export async function readFacts(): Promise<PeerFacts[]> {
  const files = (await readdir(folder))
    .filter((name) => name.endsWith(".json") && name !== ofMisbehaviour)
    .toSorted();
  return Promise.all(
    files.map(async (name) => JSON.parse(await readFile(new URL(name, folder), "utf8")) as PeerFacts),
  );
}

/** The record of `npm run record:misbehaviours`. */
export async function readMisbehaviour(): Promise<MisbehaviourFacts> {
  return JSON.parse(await readFile(new URL(ofMisbehaviour, folder), "utf8")) as MisbehaviourFacts;
}

/** The page about third-party programs. */
export function renderCompatibility(
  facts: readonly PeerFacts[],
  misbehaviour: MisbehaviourFacts,
): Promise<string> {
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

## Servers that misbehave

What clients make of servers with one fault each, such as a tool without a name or an error without a message. \`npm run record:misbehaviours\`
runs them over stdio and HTTP (${misbehaviour.rows.length} servers in all), lists the tools or calls one, and stops a client after 20 s; those that take a time
limit get one of 8 s. A client can do these, the best first:

- ${outcomes[0]}: the good tools of a list, or the text of a result. Not every fault leaves any.
- ${outcomes[1]}: its message has the name of the faulty member, or repeats the server's own error.
- ${outcomes[2]}: it is somewhere in the report of a validator, printed as it is.
- ${outcomes[3]}: its message fits many faults, such as that time ran out.
- ${outcomes[4]}: an empty answer, as if nothing were wrong.
- ${outcomes[5]}: of its own code or its validator, without the member.
- ${outcomes[6]}: it has not ended after 20 s.

${counts(misbehaviour)}

Where they differ, over both transports unless one is named:

${differences(misbehaviour)}
`;
  return format(page, { parser: "markdown", printWidth: 110 });
}

/** One row for each client: how often it does what. */
function counts({ clients, rows }: MisbehaviourFacts): string {
  const names = Object.keys(rows[0]?.saw ?? {});
  return [
    `| client | package | ${outcomes.join(" | ")} |`,
    `| --- | --- | ${outcomes.map(() => "---:").join(" | ")} |`,
    ...names.map((name) => {
      const of = clients.find((each) => each.name === name);
      const seen = rows.map(({ saw }) => saw[name]?.outcome);
      const numbers = outcomes.map((outcome) => seen.filter((each) => each === outcome).length);
      return `| ${name} | ${of === undefined ? "this one" : `\`${of.package}\` ${of.version}`} | ${numbers.join(" | ")} |`;
    }),
  ].join("\n");
}

const inShort: Readonly<Record<Outcome, string>> = {
  "shows what is good": "shows",
  "names the member": "names",
  "names it in a dump": "dump, names",
  "says something else": "else",
  "says nothing": "nothing",
  "prints a stack or a dump": "dump",
  hangs: "hangs",
};

/** The faults that not all clients treat alike; those over stdio and HTTP are one row if they agree. */
function differences({ rows }: MisbehaviourFacts): string {
  const names = Object.keys(rows[0]?.saw ?? {});
  const said = rows.map(({ fault, over, saw }) => ({
    fault,
    over,
    cells: names.map((name) => inShort[saw[name]?.outcome ?? "hangs"]),
  }));
  const lines = said
    .filter(({ cells }) => new Set(cells).size > 1)
    .flatMap(({ fault, over, cells }) => {
      const row = cells.join(" | ");
      const other = said.find((each) => each.fault === fault && each.over !== over);
      const agree = other?.cells.join(" | ") === row;
      if (agree && over === "HTTP") return [];
      return [`| ${fault}${agree ? "" : ` (${over})`} | ${row} |`];
    });
  return [
    `| fault | ${names.join(" | ")} |`,
    `| --- | ${names.map(() => "---").join(" | ")} |`,
    ...lines,
  ].join("\n");
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
    await renderCompatibility(await readFacts(), await readMisbehaviour()),
  );
}
