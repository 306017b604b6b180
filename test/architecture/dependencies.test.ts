import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

interface Locked {
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), "utf8"));
const { packages } = read("package-lock.json") as { packages: Readonly<Record<string, Locked>> };
const { scripts } = read("package.json") as { scripts: Readonly<Record<string, string>> };

/** Where `name` is found from the package at `path`: beside it, or further up. */
function find(name: string, path: string): string | undefined {
  for (let folder = path; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("node_modules/") - 1))) {
    const place = `${folder === "" ? "" : `${folder}/`}node_modules/${name}`;
    if (place in packages) return place;
    if (folder === "") return undefined;
  }
}

/** All that is installed with the package, by its place in the lock file: peers too, for a user has them. */
function production(): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (path: string): void => {
    const { dependencies, optionalDependencies, peerDependencies } = packages[path] ?? {};
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      const place = find(name, path);
      if (place === undefined || found.has(place)) continue; // an optional peer that is not there
      found.add(place);
      visit(place);
    }
  };
  visit("");
  return found;
}

it("runs no script when it is installed, nor does anything that comes with it", () => {
  const places = [...production()];
  expect(places).toContain("node_modules/@modelcontextprotocol/server");
  expect(places).toContain("node_modules/zod");
  expect(places.filter((place) => packages[place]?.hasInstallScript === true)).toEqual([]);
  const own = ["preinstall", "install", "postinstall", "prepare"].filter((name) => name in scripts);
  expect(own).toEqual([]);
});

it("misses nothing that the lock file counts as not for development alone", () => {
  const places = production();
  const others = Object.keys(packages).filter((place) => place !== "" && packages[place]?.dev !== true);
  // What npm calls `devOptional` or `peer` is there for a tool; it may run no script either.
  expect(others.filter((place) => packages[place]?.hasInstallScript === true)).toEqual([]);
  expect(places.size).toBeGreaterThan(5);
});
