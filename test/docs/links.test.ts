import { readdir, readFile } from "node:fs/promises";
import { posix } from "node:path";
import { expect, it } from "vitest";
import { anchorOf } from "../../docs/.vitepress/links.ts";

const root = new URL("../../", import.meta.url);

/** Every file and folder of the repository; not the packages that are installed there, nor what was built. */
const everything = new Set<string>();
const folders = await readdir(root, { withFileTypes: true });
for (const { name } of folders.filter((entry) => !/^(node_modules|dist|coverage|\..+)$/.test(entry.name))) {
  everything.add(name);
}
for (const { name } of folders.filter((entry) => entry.isDirectory() && everything.has(entry.name))) {
  for (const path of await readdir(new URL(`${name}/`, root), { recursive: true })) {
    const parts = path.split(/[\\/]/);
    if (!parts.includes("node_modules") && !parts.includes("dist"))
      everything.add([name, ...parts].join("/"));
  }
}
const list = (extension: string): string[] => [...everything].filter((path) => path.endsWith(extension));
const pages = new Map(
  await Promise.all(
    list(".md").map(async (path) => [path, await readFile(new URL(path, root), "utf8")] as const),
  ),
);

/** The anchors of a page. */
function anchors(page: string): Set<string> {
  const found = new Set<string>();
  for (const [, title = ""] of withoutCode(page).matchAll(/^#{1,6} +(.+?) *$/gm)) {
    const anchor = anchorOf(title);
    let name = anchor;
    for (let n = 1; found.has(name); n++) name = `${anchor}-${n}`;
    found.add(name);
  }
  return found;
}

function withoutCode(page: string): string {
  return page.replace(/^```[^]*?^```/gm, "");
}

function* localLinks(): Generator<{ from: string; link: string; path: string; anchor: string }> {
  for (const [from, page] of pages) {
    const text = withoutCode(page);
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g), ...text.matchAll(/\bsrc(?:set)?="([^"]+)"/g)];
    for (const [, link = ""] of links) {
      if (/^[a-z]+:/.test(link)) continue;
      const [target = "", anchor = ""] = link.split("#");
      const path = target === "" ? from : posix.join(posix.dirname(from), target).replace(/\/$/, "");
      yield { from, link, path, anchor };
    }
  }
}

it("has no link to a file or a heading that is not there", () => {
  const links = [...localLinks()];
  expect(links.length).toBeGreaterThan(40);
  const broken = links.filter(({ path, anchor }) => {
    if (!everything.has(path)) return true;
    return anchor !== "" && !anchors(pages.get(path) ?? "").has(anchor);
  });
  expect(broken.map(({ from, link }) => `${from}: ${link}`)).toEqual([]);
});

it("links from pages of the site to no folder, which the site cannot show", () => {
  const isFolder = (path: string): boolean => [...everything].some((each) => each.startsWith(`${path}/`));
  const toFolders = [...localLinks()].filter(({ from, path }) => from.startsWith("docs/") && isFolder(path));
  expect(toFolders.map(({ from, link }) => `${from}: ${link}`)).toEqual([]);
});

it("links from pages that are packed only to what is packed", async () => {
  const { files } = JSON.parse(await readFile(new URL("package.json", root), "utf8")) as { files: string[] };
  // What npm always packs.
  const always = ["package.json", "README.md", "LICENSE"];
  const isPacked = (path: string): boolean =>
    [...files.filter((each) => !each.startsWith("!")), ...always].some(
      (each) => posix.matchesGlob(path, each) || path.startsWith(`${each}/`),
    );
  const links = [...localLinks()].filter(({ from }) => isPacked(from));
  expect(links.length).toBeGreaterThan(40);
  const broken = links.filter(({ path }) => !isPacked(path));
  expect(broken.map(({ from, link }) => `${from}: ${link}`)).toEqual([]);
});

it("names no file or folder of the repository that is not there", () => {
  // Pages of these folders are about the paths of another project.
  const ours = [...pages].filter(([from]) => !/^(templates|test\/conformance\/ours)\//.test(from));
  const named = ours.flatMap(([from, page]) =>
    [
      ...page.matchAll(
        /(?<![\w./-])(?:src|test|docs|scripts|bench|examples|templates|dashboard)\/[\w/.-]*\w/g,
      ),
    ].map(([path]) => ({ from, path })),
  );
  expect(named.length).toBeGreaterThan(100);
  const broken = named.filter(({ path }) => !everything.has(path));
  expect(broken.map(({ from, path }) => `${from}: ${path}`)).toEqual([]);
});

it("shows each folder of src in ARCHITECTURE.md, which is read in ten minutes", () => {
  const map = pages.get("ARCHITECTURE.md") ?? "";
  const inSrc = [...everything].flatMap((path) => /^src\/[^/]+(?=\/)/.exec(path) ?? []);
  expect(inSrc.length).toBeGreaterThan(100);
  expect([...new Set(inSrc)].filter((folder) => !map.includes(`\`${folder}/\``))).toEqual([]);
  expect(map.split(/\s+/).length).toBeLessThan(2_000);
});

it("shows no TypeScript that is not a file of examples/, where it is compiled and run", async () => {
  const files = list(".ts").filter((path) => path.startsWith("examples/"));
  const code = new Set(await Promise.all(files.map((path) => readFile(new URL(path, root), "utf8"))));
  const shown = [...pages].flatMap(([from, page]) =>
    [...page.matchAll(/^```(?:ts|typescript|js)\n([^]*?)^```/gm)].map(([, block = ""]) => ({ from, block })),
  );
  expect(shown.length).toBeGreaterThan(10);
  const others = shown.filter(({ from, block }) => !from.startsWith("test/") && !code.has(block));
  expect(others).toEqual([]);
});
