/** One reference of a source file to another module. */
export interface ImportEdge {
  readonly specifier: string;
  /** Gone at run time: `import type` and `export type`. */
  readonly typeOnly: boolean;
}

/**
 * Comments, and what could be taken for one, in the order in which a reader meets them. The regular expression is
 * matched first, since `/\/*$/` holds no comment, and then the strings, since "https://…" holds none.
 */
const lexeme =
  /(?<=(?:^|[(,=:[!&|?{};>]|\breturn)\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|\/\*[\s\S]*?\*\/|\/\/[^\n]*/gm;

/** `source` without its comments; every other character keeps its line. */
export function withoutComments(source: string): string {
  return source.replace(lexeme, (text) =>
    text.startsWith("/*") || text.startsWith("//") ? text.replace(/[^\n]/g, " ") : text,
  );
}

/** `source` without comments, strings and regular expressions. Templates stay: there is code between their braces. */
export function codeOnly(source: string): string {
  return source.replace(lexeme, (text) => (text.startsWith("`") ? text : text.replace(/[^\n]/g, " ")));
}

const forms = [
  // import x, { y } from "m"; export * from "m"
  /\b(?:import|export)\s+(?<type>type\s)?[\w$*{},\s]*?\bfrom\s*["'](?<specifier>[^"']+)["']/g,
  // import "m"
  /\bimport\s*["'](?<specifier>[^"']+)["']/g,
  // import("m"), import.meta.resolve("m")
  /\bimport(?:\.meta\.resolve)?\s*\(\s*["'`](?<specifier>[^"'`]+)["'`]/g,
] as const;

/** `new URL("./worker.ts", import.meta.url)`, also with a choice of names: how a thread or a process is started. */
const urlOfModule = /\bnew URL\((?<choice>[^;]*?),\s*import\.meta\.url\s*,?\s*\)/g;

/** A source file is `.ts`, and `.js` once it is compiled. What else a URL leads to, such as JSON, is data. */
const moduleFile = /["'`](?<path>\.{1,2}\/[^"'`]+)\.[jt]s["'`]/g;

/** With the strings gone, something is left between the parentheses. */
const computed = /\bimport\s*\(\s*[^\s)`]|\brequire\s*\(/;

/** What `source` imports, starts or re-exports. A path that is computed shows as the specifier `<computed>`. */
export function parseImports(source: string): readonly ImportEdge[] {
  const code = withoutComments(source);
  const edges: ImportEdge[] = [];
  for (const form of forms) {
    for (const { groups } of code.matchAll(form)) {
      edges.push({ specifier: groups?.["specifier"] ?? "", typeOnly: groups?.["type"] !== undefined });
    }
  }
  for (const url of code.matchAll(urlOfModule)) {
    const paths = [...(url.groups?.["choice"] ?? "").matchAll(moduleFile)].map(
      (file) => file.groups?.["path"],
    );
    for (const path of new Set(paths)) edges.push({ specifier: `${path}.ts`, typeOnly: false });
  }
  if (computed.test(codeOnly(source))) edges.push({ specifier: "<computed>", typeOnly: false });
  return edges;
}
