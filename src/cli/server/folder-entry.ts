import { createHash } from "node:crypto";
import { variablesOf, type HostEntry } from "./host-config.ts";

/** An entry of the file in the working directory, before variables are expanded. */
export interface FolderEntry {
  /** The file. */
  readonly path: string;
  readonly name: string;
  readonly entry: HostEntry;
}

/** Equal for entries that start or send the same. */
export function entryHash(entry: HostEntry): string {
  return createHash("sha256").update(JSON.stringify(entry)).digest("hex");
}

/** What an entry would do: the lines that a user reads before they agree. Nothing in it is expanded, cut or invisible. */
export function describeEntry(entry: HostEntry): string {
  const variables = variablesOf(entry);
  const lines =
    entry.kind === "http"
      ? [
          `connects to: ${visible(entry.url)}`,
          ...Object.entries(entry.headers).map(([name, value]) => `sends: ${visible(`${name}: ${value}`)}`),
        ]
      : [
          `runs: ${[entry.command, ...entry.args].map(visible).join(" ")}`,
          ...(entry.cwd === undefined ? [] : [`in the folder: ${visible(entry.cwd)}`]),
          ...Object.entries(entry.env).map(([name, value]) => `with: ${visible(`${name}=${value}`)}`),
        ];
  const wants = variables.length === 0 ? [] : [`gets your variables: ${variables.join(", ")}`];
  return [...lines, ...wants].map((line) => `  ${line}`).join("\n");
}

/** A text with everything in it that a terminal would not show as it is: bare, or quoted with escapes. */
function visible(text: string): string {
  if (/^[\w@%+=:,./\\$(){}?&-]+$/.test(text)) return text;
  return JSON.stringify(text).replace(/(?! )[\p{C}\p{Z}]/gu, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    return `\\u{${code}}`;
  });
}

/** Whether the user agrees to an entry of the working directory's file. */
export interface FolderTrust {
  /** Whether they have agreed to it as it is now. */
  has(entry: FolderEntry): Promise<boolean>;
  /** Resolves once they have agreed. Throws a UsageError if they do not, or cannot be asked. */
  assert(entry: FolderEntry): Promise<void>;
}
