import { quote, split } from "shlex";

/** What no shell of Windows reads as anything else: in PowerShell a comma makes a list, and so does `@`. */
const bare = /^[\w+=:./\\-]+$/;
/** What PowerShell or cmd replaces between double quotes, or what ends them. */
const special = /["$`%!]/;

/**
 * A text as one word of a command line that a person copies into a shell of this system. On Windows PowerShell and cmd both understand
 * double quotes; a text with special characters is quoted for PowerShell.
 */
export function quoteWord(text: string, platform = process.platform): string {
  if (platform !== "win32") return quote(text);
  if (bare.test(text)) return text;
  if (special.test(text)) return `'${text.replaceAll("'", "''")}'`;
  // A program reads a backslash before the closing quote as an escape.
  return `"${text.replace(/\\+$/, "$&$&")}"`;
}

/** The words of a command line, as a shell of this system would part them. */
export function splitWords(line: string, platform = process.platform): readonly string[] {
  return split(platform === "win32" ? withPlainBackslashes(line) : keepingPaths(line));
}

/** On Windows a backslash parts folders; only before a double quote it escapes. */
function withPlainBackslashes(line: string): string {
  return line.replace(/'[^']*'|\\"|\\/g, (part) => (part === "\\" ? "\\\\" : part));
}

/** Keeps backslashes before letters, which a shell would drop: paths of Windows may be in commands that were copied from there. */
function keepingPaths(line: string): string {
  const parts = /'[^']*'|"(?:\\.|[^"\\])*"|\\\\|\\(?=[\w.-])/gs;
  return line.replace(parts, (part) => (part === "\\" ? "\\\\" : part));
}
