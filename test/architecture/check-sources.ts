import { posix } from "node:path";
import { findCycles } from "./find-cycles.ts";
import { codeOnly, parseImports, withoutComments, type ImportEdge } from "./parse-imports.ts";
import { wireGenerations } from "../../src/generation/generations.ts";
import {
  actsOnTheWorld,
  choosers,
  edgeOnly,
  edges,
  importsOthers,
  layers,
  maxLines,
  namesGenerations,
  namesGenerationsIn,
} from "./rules.ts";

/** Every way in which `files` (path from the root of the repository to text) break the rules, one line each. */
export function checkSources(files: ReadonlyMap<string, string>): readonly string[] {
  const problems: string[] = [];
  const graph = new Map<string, string[]>();
  for (const [path, text] of files) {
    const targets: string[] = [];
    for (const edge of parseImports(text)) {
      const target = edge.specifier.startsWith(".") ? resolve(path, edge.specifier) : undefined;
      if (target === undefined) {
        problems.push(...checkPackage(path, edge.specifier));
      } else if (files.has(target)) {
        targets.push(target);
        problems.push(...checkEdge(path, target, edge));
      } else {
        problems.push(`${path} refers to ${target}, which is no file of src`);
      }
    }
    graph.set(path, targets);
    problems.push(...checkText(path, text));
    if (!namesGenerations.has(path)) problems.push(...generationsNamedIn(path, text));
  }
  for (const cycle of findCycles(graph)) problems.push(`import cycle: ${cycle.join(" → ")}`);
  return problems;
}

function resolve(from: string, specifier: string): string {
  return posix.normalize(posix.join(posix.dirname(from), specifier));
}

const generationNames = Object.keys(wireGenerations);

/**
 * `src/store/sqlite/x.ts` is in layer `store`, part `sqlite`; a file right in src is an entry and in no layer. A file that is named for a
 * generation, such as `src/generation/sep-1686.ts`, is a part of its own.
 */
function place(path: string): { layer: string | undefined; part: string | undefined } {
  const folders = path.split("/").slice(1, -1);
  const file = posix.basename(path, ".ts");
  const named = generationNames.find((name) => file === name || file.startsWith(`${name}-`));
  const [layer = "", folder] = folders;
  const isShared = folder !== undefined && layers[layer]?.shared?.includes(folder) === true;
  return { layer: folders[0], part: isShared ? undefined : (folder ?? named) };
}

function checkPackage(path: string, specifier: string): string[] {
  const layer = place(path).layer;
  if (specifier === "<computed>" && importsOthers.has(path)) return [];
  if (specifier === "<computed>") return [`${path} imports a computed path, which cannot be checked`];
  if (/^holdfast(\/|$)/.test(specifier)) return [`${path} imports its own package by name`];
  const allowed = layer === undefined ? undefined : layers[layer]?.packages;
  if (allowed === undefined || allowed.some((start) => specifier.startsWith(start))) return [];
  return [`${path}: ${layer} must not use ${specifier}`];
}

function checkEdge(path: string, target: string, edge: ImportEdge): string[] {
  const from = place(path);
  const to = place(target);
  if (to.layer === undefined) return [`${path} imports the entry file ${target}`];
  if (from.layer === undefined) return [];
  const rule = layers[from.layer];
  if (rule === undefined) return [`${path}: the folder ${from.layer} has no rule`];
  if (!rule.from.includes(to.layer)) {
    if (!rule.typesFrom?.includes(to.layer)) return [`${path}: ${from.layer} must not import ${target}`];
    if (!edge.typeOnly) return [`${path}: ${from.layer} may import types only from ${target}`];
  }
  const isForm = from.layer === to.layer && to.part !== undefined && rule.forms?.test(to.part) === true;
  if (isForm && from.part !== to.part && !choosers.includes(path))
    return [`${path} must not know the wire form ${target}`];
  if (rule.apart && from.layer === to.layer && from.part !== to.part && to.part !== undefined) {
    if (from.part !== undefined) return [`${path}: ${from.part} and ${to.part} must not know each other`];
    if (from.layer === "store" && !choosers.includes(path))
      return [`${path}: the port must not know ${target}`];
  }
  return [];
}

const importedNames = /\bimport\s*\{(?<names>[^}]*)\}\s*from\s*["'](?<path>[^"']+)["']/g;

/** Where a file that is no part of a generation names it, in quotes or by the constant that has its name. */
export function generationsNamedIn(path: string, text: string): string[] {
  const { layer, part } = place(path);
  if (layer === namesGenerationsIn) return [];
  const code = withoutComments(text);
  const constants = [...code.matchAll(importedNames)]
    .filter(({ groups }) => /\bgeneration\b/.test(groups?.["names"] ?? ""))
    .map(({ groups }) => groups?.["path"] ?? "");
  return generationNames
    .filter((name) => name !== part)
    .filter(
      (name) =>
        ['"', "'", "`"].some((quote) => code.includes(quote + name + quote)) ||
        constants.some((specifier) => specifier.endsWith(`/${name}.ts`)),
    )
    .map((name) => `${path} names the generation ${name}: ask a table of generations`);
}

function checkText(path: string, text: string): string[] {
  const problems: string[] = [];
  const code = codeOnly(text);
  const rule = layers[place(path).layer ?? ""];
  const found = code.match(edgeOnly) ?? [];
  if (!edges.has(path)) problems.push(...found.map((use) => `${path} uses ${use}, which belongs to an edge`));
  if (rule?.pure) {
    for (const use of code.match(actsOnTheWorld) ?? [])
      problems.push(`${path} uses ${use}, but its layer is pure`);
  }
  const lines = text.trimEnd().split("\n").length;
  if (lines > maxLines) problems.push(`${path} has ${lines} lines, more than ${maxLines}`);
  return problems;
}
