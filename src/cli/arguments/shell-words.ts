import { quote, split } from "shlex";

/** Characters without a special meaning in any Windows shell. In PowerShell a comma makes a list, and so does `@`. */
const bare = /^[\w+=:./\\-]+$/;
/** Characters that PowerShell or cmd expand within double quotes, or that end them. */
const special = /["$`%!]/;

/**
 * Quotes a text as one word of a command line to copy into a shell of this system. On Windows PowerShell and cmd both understand double
 * quotes; a text with special characters is quoted for PowerShell.
 */
export function quoteWord(text: string, platform = process.platform): string {
  if (platform !== "win32") return quote(text);
  if (bare.test(text)) return text;
  if (special.test(text)) return `'${text.replaceAll("'", "''")}'`;
  // A program reads a backslash before the closing quote as an escape.
  return `"${text.replace(/\\+$/, "$&$&")}"`;
}

/** The words of a command line, split as a shell of this system would. */
export function splitWords(line: string, platform = process.platform): readonly string[] {
  return split(platform === "win32" ? withPlainBackslashes(line) : keepingPaths(line));
}

/** On Windows a backslash separates folders; it escapes only a double quote. */
function withPlainBackslashes(line: string): string {
  return line.replace(/'[^']*'|\\"|\\/g, (part) => (part === "\\" ? "\\\\" : part));
}

/** Keeps backslashes before letters, which a shell would drop: a copied command may contain Windows paths. */
function keepingPaths(line: string): string {
  const parts = /'[^']*'|"(?:\\.|[^"\\])*"|\\\\|\\(?=[\w.-])/gs;
  return line.replace(parts, (part) => (part === "\\" ? "\\\\" : part));
}
