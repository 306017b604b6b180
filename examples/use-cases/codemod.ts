import { isBuiltin } from "node:module";
import { parseSync, Visitor, type ESTree } from "vite";

/** What becomes of a file. */
export interface Migration {
  readonly code: string;
  /** How many statements were changed. */
  readonly changes: number;
  /** What a person has to change, such as "line 3: require". */
  readonly left: readonly string[];
}

/** The file that a relative specifier means, as it is to be written, and its code; undefined if there is no such file. */
export type Resolve = (
  specifier: string,
) => { readonly specifier: string; readonly code: string } | undefined;

/** What a statement is in an ES module. */
interface Edit {
  readonly text: string;
  /** The part of the statement that stays. */
  readonly kept?: ESTree.Node;
}

/** Where a name is used. */
interface Name {
  readonly name: string;
  readonly start: number;
}

/** Converts a CommonJS module to an ES module. A module that it has converted stays the same. */
export function toEsModule(code: string, resolve: Resolve): Migration {
  const program = parsed(code);
  if (program === undefined) return { code, changes: 0, left: ["It is no JavaScript."] };
  const edits = program.body.flatMap((statement) => {
    const edit = esStatement(statement, code, resolve);
    return edit === undefined ? [] : [{ statement, ...edit }];
  });
  const left = commonJsNames(program).filter(
    (name) => !edits.some(({ statement, kept }) => isWithin(name, statement) && !isWithin(name, kept)),
  );
  let migrated = code;
  for (const { statement, text } of edits.toReversed())
    migrated = migrated.slice(0, statement.start) + text + migrated.slice(statement.end);
  return {
    code: left.length === 0 ? migrated : code,
    changes: edits.length,
    left: left.map(({ name, start }) => `line ${code.slice(0, start).split("\n").length}: ${name}`),
  };
}

function isWithin({ start }: Name, outer: ESTree.Node | undefined): boolean {
  return outer !== undefined && outer.start <= start && start < outer.end;
}

/** Where the names are used that only CommonJS has. */
function commonJsNames(program: ESTree.Program): Name[] {
  const found: Name[] = [];
  const properties = new Set<unknown>(); // `exports` in `module.exports` is not the variable
  new Visitor({
    MemberExpression: ({ computed, property }) => void (!computed && properties.add(property)),
    Property: ({ computed, shorthand, key }) => void (!computed && !shorthand && properties.add(key)),
    Identifier: (node) => {
      const isOurs = ["require", "module", "exports", "__dirname", "__filename"].includes(node.name);
      if (isOurs && !properties.has(node)) found.push(node);
    },
  }).visit(program);
  return found;
}

function parsed(code: string): ESTree.Program | undefined {
  const { program, errors } = parseSync("file.js", code, { sourceType: "unambiguous" });
  return errors.length === 0 ? program : undefined;
}

/** What a top-level statement becomes; undefined if it stays. */
function esStatement(
  statement: ESTree.Statement | ESTree.Directive,
  code: string,
  resolve: Resolve,
): Edit | undefined {
  if (statement.type === "VariableDeclaration") {
    const [declarator, ...more] = statement.declarations;
    const specifier = required(declarator?.init);
    if (declarator === undefined || specifier === undefined || more.length > 0) return undefined;
    const text = importOf(declarator.id, specifier, code, resolve);
    return text === undefined ? undefined : { text };
  }
  if (statement.type !== "ExpressionStatement") return undefined;
  if (statement.directive === "use strict") return { text: "" }; // as ES modules always are
  const { expression } = statement;
  const specifier = required(expression);
  if (specifier !== undefined) {
    const found = target(specifier, resolve);
    return found && { text: `import "${found.specifier}";` };
  }
  if (expression.type !== "AssignmentExpression" || expression.operator !== "=") return undefined;
  const { left, right } = expression;
  const to = code.slice(left.start, left.end);
  const value = code.slice(right.start, right.end);
  if (to === "module.exports")
    return { text: exportedNames(right, code) ?? `export default ${value};`, kept: right };
  const name = /^(?:module\.)?exports\.(\w+)$/.exec(to)?.[1];
  if (name === undefined) return undefined;
  if (right.type !== "Identifier") return { text: `export const ${name} = ${value};`, kept: right };
  return { text: `export { ${value === name ? name : `${value} as ${name}`} };`, kept: right };
}

function importOf(id: ESTree.Node, specifier: string, code: string, resolve: Resolve): string | undefined {
  const found = target(specifier, resolve);
  if (found === undefined) return undefined;
  if (id.type === "Identifier")
    return `import ${found.named === true ? "* as " : ""}${id.name} from "${found.specifier}";`;
  // Whether a package exports names is known only when it is loaded.
  if (
    id.type !== "ObjectPattern" ||
    found.named === false ||
    (found.named === undefined && !isBuiltin(specifier))
  )
    return undefined;
  const names = id.properties.map((property) => {
    if (property.type !== "Property" || property.computed || property.value.type !== "Identifier")
      return undefined;
    const key = code.slice(property.key.start, property.key.end);
    return key === property.value.name ? key : `${key} as ${property.value.name}`;
  });
  return names.includes(undefined) ? undefined : `import { ${names.join(", ")} } from "${found.specifier}";`;
}

/** What is required, and whether it exports names, which is unknown for modules outside the folder. */
function target(
  specifier: string,
  resolve: Resolve,
): { specifier: string; named: boolean | undefined } | undefined {
  if (!specifier.startsWith(".")) return { specifier, named: undefined };
  const file = resolve(specifier);
  return file && { specifier: file.specifier, named: exportsNames(file.code) };
}

/** The specifier in `require("specifier")`. */
function required(node: ESTree.Node | null | undefined): string | undefined {
  if (node?.type !== "CallExpression" || node.callee.type !== "Identifier" || node.callee.name !== "require")
    return undefined;
  const [argument] = node.arguments;
  return argument?.type === "Literal" && typeof argument.value === "string" ? argument.value : undefined;
}

/** `export { a, b as c }` for `module.exports = { a, c: b }`; undefined for any other value. */
function exportedNames(value: ESTree.Node, code: string): string | undefined {
  if (value.type !== "ObjectExpression") return undefined;
  const names = value.properties.map((property) => {
    if (property.type !== "Property" || property.computed || property.value.type !== "Identifier")
      return undefined;
    const key = code.slice(property.key.start, property.key.end);
    return key === property.value.name ? key : `${property.value.name} as ${key}`;
  });
  return names.includes(undefined) ? undefined : `export { ${names.join(", ")} };`;
}

/** Whether a file exports names, before or after it was migrated. */
function exportsNames(code: string): boolean {
  return (parsed(code)?.body ?? []).some((statement) => {
    if (statement.type === "ExportNamedDeclaration") return true;
    if (statement.type !== "ExpressionStatement" || statement.expression.type !== "AssignmentExpression")
      return false;
    const { left, right } = statement.expression;
    const to = code.slice(left.start, left.end);
    return to === "module.exports"
      ? exportedNames(right, code) !== undefined
      : /^(module\.)?exports\.\w+$/.test(to);
  });
}
