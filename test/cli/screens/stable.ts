/** A number of seconds, minutes, hours or days, as the program writes it. */
const time = String.raw`\d+(?:s|m \d\ds|h \d\dm|d \d\dh)`;

/** Something that differs from run to run, and what stands for it. */
export type Replacement = readonly [RegExp, string | ((found: string) => string)];

const differing: readonly Replacement[] = [
  [/(?<=(?:127\.0\.0\.1|localhost)(?::|%3A))\d{5}/g, filled("PORT")],
  [/(?<=[?&](?:client_id|state|code_challenge)=)[\w-]+/g, filled("ID")],
  [/(?<=enter the code )\w+/g, filled("CODE")],
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, filled("ID")],
  [/(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{22,}(?![\w-])/gi, filled("ID")],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, filled("DATE")],
  [/\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ/g, filled("DATE")],
  [/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, "⠋"],
  [/\d+(?= ms\b)/g, "?"],
  // A column of ages is as wide as its widest.
  [/(?<= {2})AGE +/g, "AGE  "],
  [new RegExp(`(?<= {2})${time} +(?=\\S)`, "g"), "?s   "],
  [new RegExp(`(?<![\\w.-])${time}(?![\\w.-])`, "g"), "?s"],
];

/** As long as what it stands for, so that a line is cut and wrapped where it was. */
function filled(name: string): (found: string) => string {
  return (found) => name.padEnd(found.length, "_").slice(0, found.length);
}

/** A screen's lines as the terminal wraps them, without what differs from run to run. */
export function stable(text: string, columns: number, also: readonly Replacement[]): string {
  const rows = text.split("\n").flatMap((line) => {
    const known = [...also, ...differing].reduce(
      (so, [pattern, replacement]) =>
        typeof replacement === "string"
          ? so.replace(pattern, replacement)
          : so.replace(pattern, (found) => replacement(found)),
      line,
    );
    return rowsOf(known, columns);
  });
  return rows.map((row) => row.trimEnd()).join("\n");
}

function rowsOf(line: string, columns: number): readonly string[] {
  const rows = [];
  for (let at = 0; at === 0 || at < line.length; at += columns) rows.push(line.slice(at, at + columns));
  return rows;
}
