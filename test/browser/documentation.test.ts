import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { newFolder } from "../docs/example-process.ts";
import { chromiumOfFile } from "./chromium-of-file.ts";
import { problemsOf } from "./chromium.ts";

const chromium = chromiumOfFile();
const origin = "http://docs.test";
const types: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};
let folder: string;

beforeAll(async () => {
  folder = await newFolder(afterAll);
  const root = fileURLToPath(new URL("../../", import.meta.url));
  const program = join(root, "node_modules/vitepress/bin/vitepress.js");
  // The build fails for a link to a page that is not there.
  await promisify(execFile)(process.execPath, [program, "build", "docs", "--outDir", folder], { cwd: root });
});

interface Reader {
  readonly page: Page;
  /** What was asked of anyone else, or is not there. */
  readonly missed: readonly string[];
}

async function openSite(
  path: string,
  options: { width?: number; colorScheme?: "dark" | "light" } = {},
): Promise<Reader> {
  const { width = 1280, colorScheme = "light" } = options;
  const context = await chromium().newContext({ viewport: { width, height: 800 }, colorScheme });
  onTestFinished(() => context.close());
  const missed: string[] = [];
  await context.route("**", async (route) => {
    const url = new URL(route.request().url());
    const file = join(
      folder,
      decodeURIComponent(url.pathname),
      url.pathname.endsWith("/") ? "index.html" : "",
    );
    const body = url.origin === origin ? await readFile(file).catch(() => undefined) : undefined;
    if (body !== undefined)
      return route.fulfill({ body, contentType: types[extname(file)] ?? "application/octet-stream" });
    missed.push(url.href);
    return route.abort();
  });
  const page = await context.newPage();
  await page.goto(origin + path, { waitUntil: "networkidle" });
  return { page, missed };
}

it("has every page, and loads nothing from elsewhere", async () => {
  const names = await readdir(folder, { recursive: true });
  const pages = names.filter((name) => /^\w+\/[\w-]+\.html$/.test(name));
  expect(pages.length).toBeGreaterThan(20);
  const loaded: string[] = [];
  for (const name of names.filter((each) => /\.(html|css)$/.test(each))) {
    const text = await readFile(join(folder, name), "utf8");
    const urls = text.matchAll(
      /<(?:script|img|source|iframe|link)\b[^>]*?\b(?:src|srcset|href)="([^"]+)"|url\(["']?([^"')]+)/g,
    );
    loaded.push(...[...urls].map(([, inTag, inStyle]) => inTag ?? inStyle ?? ""));
  }
  expect(loaded.length).toBeGreaterThan(pages.length);
  expect(loaded.filter((url) => /^(\w+:)?\/\//.test(url))).toEqual([]);
});

it("has each page as Markdown for models, and a list of them", async () => {
  const list = await readFile(join(folder, "llms.txt"), "utf8");
  const listed = [...list.matchAll(/^- \[.+?\]\((.+?)\)/gm)].map(([, path = ""]) => path);
  expect(listed).toContain("learn/first-tool.md");
  for (const path of listed) expect(await readFile(join(folder, path), "utf8")).toMatch(/^# /m);
});

it("has an element only for words of code that have a colour, as a class", async () => {
  const page = await readFile(join(folder, "learn/first-tool.html"), "utf8");
  expect(page).not.toMatch(/<span (?:class="line"|style=)/);
  const used = new Set(Array.from(page.matchAll(/<(?:code|span) class="(k\d+)"/g), ([, name]) => name));
  expect(used.size).toBeGreaterThan(4);
  for (const name of used) expect(page).toMatch(new RegExp(`\\.${name}\\{--shiki-light:#`));
});

it("finds a page by words in it, and goes there", async () => {
  const { page, missed } = await openSite("/");
  await page.keyboard.press("ControlOrMeta+k");
  await page.locator("#localsearch-input").fill("unregisteredGraceMs");
  await page.locator("#localsearch-list a").first().click();
  await page.locator("main", { hasText: "unregisteredGraceMs" }).waitFor();
  expect(missed).toEqual([]);
});

it.each([
  { width: 1280, colorScheme: "light" as const },
  { width: 360, colorScheme: "dark" as const },
])("is readable by everyone at $width px, $colorScheme", async (options) => {
  for (const path of ["/", "/learn/server.html", "/learn/concepts.html", "/operate/dashboard.html"]) {
    const { page, missed } = await openSite(path, options);
    expect(await problemsOf(page)).toEqual([]);
    expect(missed).toEqual([]);
  }
});

it("shows the screenshots of the theme, also if the reader chose it", async () => {
  const { page, missed } = await openSite("/operate/dashboard.html", { colorScheme: "light" });
  const shown = async (): Promise<readonly string[]> =>
    page.evaluate<string[]>(
      `[...document.querySelectorAll("main img")].filter((each) => getComputedStyle(each).display !== "none").map((each) => each.getAttribute("src"))`,
    );
  const light = await shown();
  expect(light.filter((src) => !src.includes("-light."))).toEqual([]);
  await page.evaluate(`document.documentElement.classList.add("dark")`);
  const dark = await shown();
  expect(dark).toHaveLength(light.length);
  expect(dark.filter((src) => !src.includes("-dark."))).toEqual([]);
  expect(light).not.toEqual([]);
  expect(missed).toEqual([]);
});

it("has drawings with letters that can be read on a phone", async () => {
  const { page } = await openSite("/learn/concepts.html", { width: 360 });
  const heights = await page.evaluate<number[]>(
    `[...document.querySelectorAll(".drawing text")].map((each) => each.getBoundingClientRect().height)`,
  );
  expect(heights.length).toBeGreaterThan(20);
  expect(Math.min(...heights)).toBeGreaterThan(9);
});

it("names no text for models as the page to read next", async () => {
  const names = (await readdir(folder, { recursive: true })).filter((name) =>
    /^\w+\/[\w-]+\.html$/.test(name),
  );
  const texts = await Promise.all(names.map(async (name) => readFile(join(folder, name), "utf8")));
  expect(texts.filter((text) => text.includes("pager-link next")).length).toBeGreaterThan(50);
  expect(texts.filter((text) => /pager-link next"[^>]*href="[^"]*llms/.test(text))).toEqual([]);
});
