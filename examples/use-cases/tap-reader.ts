/** How a test ended. */
export interface TestEnd {
  /** Its name, behind those of the suites around it. */
  readonly test: string;
  readonly end: "passed" | "failed" | "skipped";
  readonly error?: string | undefined;
  /** The file and the line. */
  readonly location?: string | undefined;
}

/** A test whose details are being read. */
interface OpenTest extends Pick<TestEnd, "test" | "end"> {
  /** How far its details are indented. */
  readonly indent: number;
  readonly details: Map<string, string>;
  /** The detail to which the following lines belong. */
  block?: string | undefined;
}

/** Reads what Node's test runner writes with `--test-reporter=tap`: https://testanything.org */
export class TapReader {
  readonly #names: string[] = [];
  #open: OpenTest | undefined;

  /** What this line reports: how a test ended, or what a test has printed. */
  read(line: string): TestEnd | { readonly printed: string } | undefined {
    const text = line.trimStart();
    const indent = line.length - text.length;
    if (this.#open !== undefined) return this.#detail(this.#open, text, indent);
    const depth = Math.floor(indent / 4);
    const begun = /^# Subtest: (.*)$/.exec(text)?.[1];
    if (begun !== undefined) {
      this.#names.splice(depth, Infinity, plain(begun));
      return undefined;
    }
    const ended = /^(not )?ok \d+(?: - (.*?))?( # (?:SKIP|TODO)\b.*)?$/.exec(text);
    if (ended !== null) {
      const [, not, name = "", directive] = ended;
      const test = [...this.#names.slice(0, depth), plain(name)].join(" › ");
      // What is still to be done counts neither way.
      const end = directive !== undefined ? "skipped" : not === undefined ? "passed" : "failed";
      this.#open = { test, end, indent: indent + 2, details: new Map() };
      return undefined;
    }
    return /^(TAP version|\d+\.\.\d+|# |$)/.test(text) ? undefined : { printed: line };
  }

  /** A line of the YAML below a test. */
  #detail(open: OpenTest, text: string, indent: number): TestEnd | undefined {
    const { details, block } = open;
    if (block !== undefined && (indent > open.indent || text === "")) {
      details.set(block, [details.get(block), text].filter((part) => part !== undefined).join("\n"));
      return undefined;
    }
    open.block = undefined;
    if (text === "...") {
      this.#open = undefined;
      const { test, end } = open;
      // A suite ends as its tests do, and each of these was reported.
      if (details.get("type") === "suite" && details.get("failureType") !== "hookFailed") return undefined;
      return { test, end, error: details.get("error"), location: details.get("location") };
    }
    const [, key, value = ""] = /^(\w+):(?: (.*))?$/.exec(text) ?? [];
    if (key === undefined) return undefined;
    if (value.startsWith("|")) open.block = key;
    else details.set(key, value.replace(/^'(.*)'$/, "$1").replaceAll("\\'", "'"));
    return undefined;
  }
}

/** Names as they are in the code: TAP escapes some characters. */
function plain(name: string): string {
  return name.replaceAll(/\\(.)/g, "$1");
}
