import { readFile } from "node:fs/promises";

/** A table of the events of a server, of the comments in the source: when each comes, and what it has beside what all of its kind have. */
export async function eventTable(): Promise<string> {
  const url = new URL("../src/runtime/events/server-event.ts", import.meta.url);
  const source = await readFile(url, "utf8");
  const declared = source.matchAll(
    /(?<=^ *\/\*\*)(?<comment>(?:(?!\*\/)[^])*?)\*\/\n(?: {2}\| |interface \w+ \{)(?<body>[^]*?)(?=^ {2}\/\*\*(?:(?!\*\/)[^])*\*\/\n {2}\| |^ {2}\| |^\}|;\n(?:\n|$(?![^])))/gm,
  );
  const rows = [...declared].flatMap(({ groups: { comment = "", body = "" } = {} }) => {
    const type = /\btype: "([\w.]+)"/.exec(body)?.[1];
    if (type === undefined) return [];
    const own = body.replace(/\/\*\*[^]*?\*\//g, "").replace(/readonly \{[^}]*\}\[\]/g, "list");
    const names = [...own.matchAll(/readonly (\w+)\??:/g)].map(([, name = ""]) => name);
    const members = names.filter((name) => name !== "type");
    const when = comment.replace(/\s*\n\s*\*/g, "").trim();
    return [`| \`${type}\` | ${when} | ${members.map((name) => `\`${name}\``).join(", ")} |`];
  });
  if (rows.length !== [...source.matchAll(/\btype: "/g)].length)
    throw new Error(`An event in ${url.pathname} has no comment.`);
  return ["| type | when | has |", "| --- | --- | --- |", ...rows].join("\n");
}
