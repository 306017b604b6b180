import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { parse } from "rolldown/utils";
import { dist, root } from "./bundle.ts";

/** A declaration that users see: an export of an entry, or a type that one is made of. */
export interface Declared {
  readonly name: string;
  /** Without comments. */
  readonly text: string;
  /** As the declaration file has it, with the comments of its members. */
  readonly source: string;
  /** The text of its doc comment; empty if it has none. */
  readonly comment: string;
  /** The entry that exports it; for what no entry exports, the first that needs it. */
  readonly home: string;
}

/** What can be imported from an entry, by name, and the types that this is made of but that have no export. */
export interface EntryApi {
  /** As it is imported: `holdfast/client`. */
  readonly entry: string;
  readonly exports: readonly Declared[];
  readonly inner: readonly Declared[];
}

type Parsed = Awaited<ReturnType<typeof parse>>;
type Statement = Parsed["program"]["body"][number];

interface Module {
  readonly text: string;
  readonly comments: Parsed["comments"];
  /** Statements by the name that they declare: overloads and merged interfaces are several. */
  readonly declared: ReadonlyMap<string, readonly Statement[]>;
  readonly imports: ReadonlyMap<string, { readonly file: string; readonly name: string }>;
  /** Local names by what they are exported as. */
  readonly exports: ReadonlyMap<string, string>;
}

/** The public API, of the declaration files that `npm run build` makes: entries in the order of package.json. */
export async function publicApi(): Promise<readonly EntryApi[]> {
  const { exports: entries, name: ownName } = JSON.parse(
    await readFile(`${root}package.json`, "utf8"),
  ) as OwnPackage;
  const modules = new Map<string, Module>();
  const listed = Object.entries(entries).flatMap(([path, target]) =>
    typeof target === "string" ? [] : [[path, basename(target.types)] as const],
  );
  for (const [, file] of listed) await load(file, modules);
  const homes = new Map<Found["key"], string>();
  const found = listed.map(([path, file]) => {
    const entry = `${ownName}${path.slice(1)}`;
    const names = [...(modules.get(file)?.exports.keys() ?? [])].toSorted();
    return { entry, names, of: names.flatMap((name) => exported(file, name, modules) ?? []) };
  });
  for (const { entry, of } of found) for (const { key } of of) if (!homes.has(key)) homes.set(key, entry);
  return found.map(({ entry, of }) => {
    const inner = new Map<string, Found>();
    const add = (from: Found): void => {
      for (const each of usedBy(from, modules)) {
        if (homes.has(each.key)) continue;
        homes.set(each.key, entry);
        inner.set(each.key, each);
        add(each);
      }
    };
    for (const each of of) add(each);
    const described = (each: Found): Declared => ({ ...describe(each), home: homes.get(each.key) ?? entry });
    return {
      entry,
      exports: of.map(described),
      inner: [...inner.values()].map(described).toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    };
  });
}

interface OwnPackage {
  readonly name: string;
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
}

async function load(file: string, modules: Map<string, Module>): Promise<void> {
  if (modules.has(file)) return;
  const text = await readFile(`${dist}${file}`, "utf8");
  const { program, comments } = await parse(file, text, { lang: "dts", sourceType: "module" });
  const declared = new Map<string, Statement[]>();
  const imports = new Map<string, { file: string; name: string }>();
  const exports = new Map<string, string>();
  for (const statement of program.body) {
    if (statement.type === "ImportDeclaration") {
      const from = statement.source.value;
      for (const each of statement.specifiers)
        if (each.type === "ImportSpecifier" && from.startsWith("./"))
          imports.set(each.local.name, {
            file: `${basename(from, ".js")}.d.ts`,
            name: text.slice(each.imported.start, each.imported.end),
          });
    } else if (statement.type === "ExportNamedDeclaration") {
      for (const { local, exported: as } of statement.specifiers)
        exports.set(text.slice(as.start, as.end), text.slice(local.start, local.end));
    } else if (statement.type === "ExportAllDeclaration")
      throw new Error(`dist/${file} has the declarations of the sources. Run: npm run build`);
    else
      for (const name of namesIn(statement)) declared.set(name, [...(declared.get(name) ?? []), statement]);
  }
  modules.set(file, { text, comments, declared, imports, exports });
  for (const { file: other } of imports.values()) await load(other, modules);
}

function namesIn(statement: Statement): readonly string[] {
  if (statement.type === "VariableDeclaration")
    return statement.declarations.flatMap(({ id }) => (id.type === "Identifier" ? [id.name] : []));
  const id = "id" in statement ? statement.id : null;
  // What extends a module of others belongs to no name.
  return id?.type === "Identifier" ? [id.name] : [];
}

interface Found {
  readonly key: `${string} ${string}`;
  readonly file: string;
  readonly name: string;
  readonly module: Module;
  readonly statements: readonly Statement[];
}

function exported(file: string, name: string, modules: ReadonlyMap<string, Module>): Found | undefined {
  const local = modules.get(file)?.exports.get(name);
  return local === undefined ? undefined : resolved(file, local, modules);
}

/** The declaration behind a name in a file; undefined for one of another package or of the language. */
function resolved(file: string, name: string, modules: ReadonlyMap<string, Module>): Found | undefined {
  const module = modules.get(file);
  const statements = module?.declared.get(name);
  if (module !== undefined && statements !== undefined)
    return { key: `${file} ${name}`, file, name, module, statements };
  const imported = module?.imports.get(name);
  return imported === undefined ? undefined : exported(imported.file, imported.name, modules);
}

/** Where an AST names a type or a value: all other identifiers are names of members and parameters. */
const naming: Readonly<Record<string, string>> = {
  TSTypeReference: "typeName",
  TSTypeQuery: "exprName",
  TSQualifiedName: "left",
  TSInterfaceHeritage: "expression",
  TSClassImplements: "expression",
  ClassDeclaration: "superClass",
};

function usedBy({ file, statements }: Found, modules: ReadonlyMap<string, Module>): readonly Found[] {
  const names = new Set<string>();
  const walk = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    const { type = "" } = node as { readonly type?: string };
    for (const [member, value] of Object.entries(node)) {
      const named = value as { readonly type?: string; readonly name?: string } | null;
      if (naming[type] === member && named?.type === "Identifier") names.add(named.name ?? "");
      walk(value);
    }
  };
  walk(statements);
  return [...names].toSorted().flatMap((name) => resolved(file, name, modules) ?? []);
}

function describe({ name, module: { text, comments }, statements }: Found): Omit<Declared, "home"> {
  const parts = statements.map(({ start, end }) => {
    const inside = comments.filter((comment) => comment.start >= start && comment.end <= end);
    let bare = "";
    let at = start;
    for (const comment of inside) {
      bare += text.slice(at, comment.start);
      at = comment.end;
    }
    bare += text.slice(at, end);
    const above = comments.find(
      (comment) =>
        comment.value.startsWith("*") && comment.end <= start && text.slice(comment.end, start).trim() === "",
    );
    return { bare: tidy(bare), source: plainNames(text.slice(start, end)), above: above?.value };
  });
  const comment = parts
    .flatMap(({ above }) => (above === undefined ? [] : [commentText(above)]))
    .join("\n\n");
  return {
    name: plainNames(name),
    text: parts.map(({ bare }) => bare).join("\n"),
    source: parts.map(({ source }) => source).join("\n"),
    comment,
  };
}

function tidy(text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "" && line.trim() !== "#private;");
  return plainNames(lines.map((line) => line.trimEnd()).join("\n"));
}

/** Without the numbers that the bundler gives names that several modules have. */
function plainNames(text: string): string {
  return text.replace(/\b(\w+)\$\d+\b/g, "$1");
}

function commentText(comment: string): string {
  const lines = comment.replace(/^\*/, "").split("\n");
  return lines
    .map((line) => line.replace(/^\s*\* ?/, "").trimEnd())
    .join("\n")
    .trim();
}
