import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type DefaultTheme, type MarkdownOptions } from "vitepress";
import { llmsTexts } from "../../scripts/build/pages.ts";
import { readPages, sectionsOf } from "../../src/cli/command/docs.ts";
import { anchorOf, fileOutside } from "./links.ts";

const docs = fileURLToPath(new URL("..", import.meta.url));

/** The parts of the site, and the pages of each in the order in which to read them. Pages that are not named come last. */
const parts: readonly { folder: string; title: string; first: readonly string[] }[] = [
  {
    folder: "learn",
    title: "Learn",
    first: [
      "first-tool",
      "concepts",
      "failures",
      "server",
      "waiting",
      "long-work",
      "output",
      "serving",
      "client",
      "client-restarts",
      "login",
      "plain-clients",
      "protocols",
      "guarantees",
      "guarantees-processes",
      "what-breaks",
      "troubleshooting",
    ],
  },
  {
    folder: "recipes",
    title: "Recipes",
    first: [
      "recipes",
      "child-process",
      "cpu-work",
      "rate-limited-api",
      "polling-a-job",
      "saga",
      "approval-webhook",
      "fan-out",
      "artifacts",
      "tenant-limits",
      "testing",
      "changing-code",
      "checking-recordings",
      "existing-server",
      "sdk-v1",
      "hosting",
      "express",
      "fastify",
      "hono",
      "next",
      "transports",
      "deploying",
      "several-processes",
      "sqlite-to-postgres",
      "portability",
      "serve",
      "gateway",
      "agents",
      "own-database",
      "from-start-job",
      "from-the-sdk",
      "from-fastmcp",
      "from-temporal",
      "from-inngest",
      "from-dbos",
    ],
  },
  { folder: "operate", title: "Operate", first: ["operations", "alerts", "dashboard"] },
  {
    folder: "reference",
    title: "Reference",
    first: ["cli", "commands", "cli-json", "configuration", "errors"],
  },
  { folder: "internals", title: "Internals", first: ["state-machine"] },
];

function titleOf(page: string): string {
  return /^# (.+)$/m.exec(readFileSync(join(docs, page), "utf8"))?.[1]?.replaceAll("`", "") ?? page;
}

function pagesOf({ folder, first }: (typeof parts)[number]): DefaultTheme.SidebarItem[] {
  const names = readdirSync(join(docs, folder)).flatMap((name) => /^(.+)\.md$/.exec(name)?.[1] ?? []);
  const rank = (name: string): number => (first.includes(name) ? first.indexOf(name) : first.length);
  const ordered = names.sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
  const items = ordered.map((name) => ({
    text: titleOf(`${folder}/${name}.md`),
    link: `/${folder}/${name}`,
  }));
  // A folder is one entry, whose page lists what is in it.
  for (const { name } of readdirSync(join(docs, folder), { withFileTypes: true }).filter((each) =>
    each.isDirectory(),
  )) {
    const page = ["index.md", "README.md"].find((file) => existsSync(join(docs, folder, name, file)));
    if (page !== undefined)
      items.push({ text: titleOf(`${folder}/${name}/${page}`), link: `/${folder}/${name}/` });
  }
  return items;
}

/** Pages that the build makes of the declarations, by their path here. They are not there before `npm run build`. */
const api: ReadonlyMap<string, string> = new Map(
  (await readPages()).flatMap(({ part, path, text }) =>
    part === "api" ? [[placeOf(path), text] as const] : [],
  ),
);

/** Where the site has a page of the package. */
function placeOf(path: string): string {
  return path.replace(/^(dist\/)?docs\//, "");
}

const sidebars: { folder: string; text: string; items: DefaultTheme.SidebarItem[] }[] = parts.map((part) => ({
  folder: part.folder,
  text: part.title,
  items: pagesOf(part),
}));
const apiSidebar = {
  folder: "api",
  text: "API",
  items: [...api].map(([path, text]) => ({
    text: /^# (.+)/.exec(text)?.[1] ?? path,
    link: `/${path.replace(/\.md$/, "")}`,
  })),
};
if (api.size > 0) sidebars.splice(-1, 0, apiSidebar);

const lastPages = new Set(sidebars.map(({ items }) => items.at(-1)?.link?.slice(1)));

const forModels = {
  text: "For models",
  items: ["llms.txt", "llms-full.txt"].map((name) => ({ text: name, link: `/${name}` })),
};

/** A drawing as part of the page, whose colours are then those of the page. On its own it follows the system's. */
function inlined(path: string, alt: string): string {
  const svg = readFileSync(path, "utf8")
    .replace(/<style>.*?<\/style>/s, "")
    .replaceAll(/\n\s*/g, "");
  return svg.replace("<svg ", `<svg role="img" aria-label="${alt}" `);
}

/** Two screenshots, of which the style shows that of the theme; on its own, a page follows the system's. */
function themed(html: string): string {
  return html.replace(
    /<picture>\s*<source [^>]*srcset="([^"]+)" \/>\s*(<img src="[^"]+")([^>]*>)\s*<\/picture>/g,
    (_all, dark: string, light: string, rest: string) =>
      `<p>${light} loading="lazy" class="only-light"${rest}<img src="${dark}" loading="lazy" class="only-dark"${rest}</p>`,
  );
}

type Highlighting = NonNullable<NonNullable<MarkdownOptions["codeTransformers"]>[number]["code"]>;

/** The colours of all code, as styles, with the class of each. */
const colours = new Map<string, string>();

function classOf(style: string): string {
  const colour = style.toLowerCase();
  const name = colours.get(colour) ?? `k${colours.size}`;
  colours.set(colour, name);
  return name;
}

/**
 * Leaves an element only to words that have another colour than the rest, with a class for it: one for each word and each line, with a style
 * of its own, takes a phone most of the time that a page of declarations needs.
 */
const fewElements: Highlighting = function (code) {
  const [plain = ""] = String(this.pre.properties["style"]).split(";--shiki-light-bg");
  const own = classOf(plain);
  code.properties["class"] = own;
  code.children = code.children.flatMap((line) => {
    if (line.type !== "element" || line.properties["class"] !== "line") return [line];
    return line.children.flatMap((word) => {
      if (word.type !== "element") return [word];
      const name = classOf(String(word.properties["style"] ?? plain));
      return name === own ? word.children : [{ ...word, properties: { class: name } }];
    });
  });
};

/** What the search finds of a page that is no file, of which VitePress has nothing; undefined for others, which it splits itself. */
function madeSections(file: string): Generator<Found> | undefined {
  const page = api.get(relative(docs, file));
  return page === undefined ? undefined : foundOf(page);
}

interface Found {
  readonly anchor: string;
  readonly titles: string[];
  readonly text: string;
}

function* foundOf(page: string): Generator<Found> {
  const [title, ...sections] = sectionsOf(page);
  const anchors = new Set<string>();
  for (const { heading, text } of sections) {
    const name = anchorOf(heading);
    let anchor = name;
    for (let n = 1; anchors.has(anchor); n++) anchor = `${name}-${n}`;
    anchors.add(anchor);
    yield { anchor, titles: [title?.heading ?? "", heading], text: text.replace(/^(#|```).*$/gm, "") };
  }
}

/** Files of the repository that pages link to, by their path. */
const linked = new Set<string>();

// VitePress reads its configuration from a default export only.
export default defineConfig({
  title: "Holdfast",
  description: "Durable tasks for MCP servers and clients: call now, fetch later, whatever dies in between.",
  lang: "en",
  cacheDir: "../node_modules/.cache/vitepress",
  rewrites: { "internals/decisions/README.md": "internals/decisions/index.md" },
  // After the last page of a part come the texts for models, which nobody reads next.
  transformPageData: ({ relativePath, frontmatter }) => {
    if (lastPages.has(relativePath.replace(/\.md$/, ""))) frontmatter["next"] = false;
  },
  head: [["link", { rel: "icon", href: "data:," }]],
  transformHead: () => [["style", {}, [...colours].map(([style, name]) => `.${name}{${style}}`).join("")]],
  markdown: {
    // Of those that come with it, the ones whose comments have enough contrast.
    theme: { light: "github-light-high-contrast", dark: "github-dark-default" },
    codeTransformers: [{ name: "few elements", code: fewElements }],
    anchor: { slugify: anchorOf },
    config: (md) => {
      md.core.ruler.push("files of the repository", ({ tokens, env }) => {
        const { relativePath } = env as { relativePath: string };
        for (const token of tokens) if (token.type === "html_block") token.content = themed(token.content);
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          const picture = token.attrGet("src") ?? "";
          if (picture.startsWith("pictures/")) {
            token.type = "html_inline";
            const drawing = inlined(join(docs, dirname(relativePath), picture), token.content);
            token.content = `<span class="drawing" tabindex="0">${drawing}</span>`;
          }
          const path =
            token.type === "link_open" ? fileOutside(relativePath, token.attrGet("href") ?? "") : undefined;
          if (path === undefined) continue;
          linked.add(path);
          token.attrSet("href", `/files/${path}.txt`);
        }
      });
    },
  },
  buildEnd: async ({ outDir }) => {
    for (const { path, text } of await readPages()) writeFileSync(join(outDir, placeOf(path)), text);
    const { index, full } = await llmsTexts(placeOf);
    writeFileSync(join(outDir, "llms.txt"), index);
    writeFileSync(join(outDir, "llms-full.txt"), full);
    for (const path of linked) {
      const to = join(outDir, "files", `${path}.txt`);
      mkdirSync(dirname(to), { recursive: true });
      copyFileSync(join(docs, "..", path), to);
    }
  },
  // The index of the search is one file, which is loaded when it is first used.
  vite: { build: { chunkSizeWarningLimit: 4_000 } },
  themeConfig: {
    nav: sidebars.map(({ text, items, folder }) => ({
      text,
      link: items[0]?.link ?? "/",
      activeMatch: `^/${folder}/`,
    })),
    // Each part has its own: one with all pages takes a phone a third of a second on every page.
    sidebar: Object.fromEntries(sidebars.map((part) => [`/${part.folder}/`, [part, forModels]])),
    outline: [2, 3],
    search: {
      provider: "local",
      options: {
        miniSearch: {
          _splitIntoSections: madeSections as (file: string) => Generator<Found>,
        },
      },
    },
  },
});
