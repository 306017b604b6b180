import { expect, it } from "vitest";
import { hookOf } from "../webhooks/hooked-process.ts";
import { answerWith, Receiver } from "../webhooks/receiver.ts";
import { problemsOf } from "./chromium.ts";
import { chromiumOfFile, patience } from "./chromium-of-file.ts";
import { Site, type SiteNode } from "./site.ts";
import { Visitor } from "./visitor.ts";

const chromium = chromiumOfFile();

/** Tasks in every state that a page can show, by their words. */
async function severalTasks(site: Site, node: SiteNode): Promise<ReadonlyMap<string, string>> {
  const tasks = new Map<string, string>();
  for (const [tool, word] of [
    ["quick", "completed"],
    ["publish", "failed"],
    ["deploy", "asks"],
    ["study", "study"],
    ["campaign", "running"],
  ] as const)
    tasks.set(word, await node.start(tool, word));
  await site.logged("(waits)", "running");
  await expect(node.start("quick", "refused", "stranger")).rejects.toThrow();
  return tasks;
}

interface View {
  readonly name: string;
  readonly path: string;
  /** Resolves when what is to be looked at is shown. */
  readonly shown: (visitor: Visitor) => Promise<unknown>;
}

function viewsOf(tasks: ReadonlyMap<string, string>): readonly View[] {
  const ofTask = (word: string, shown: View["shown"]): View => ({
    name: word,
    path: `/tasks/${tasks.get(word)}`,
    shown,
  });
  return [
    { name: "list", path: "/", shown: (visitor) => visitor.row("campaign").waitFor() },
    {
      name: "many",
      path: "/?tool=quick",
      shown: async ({ page }) => {
        await page.getByRole("button", { name: "Bulk action…" }).click();
        await page.getByRole("button", { name: "Preview" }).click();
        await page.getByText("would be cancelled").waitFor();
      },
    },
    ofTask("completed", (visitor) => visitor.row("Attempt 1 completed").waitFor()),
    ofTask("failed", (visitor) => visitor.page.getByText("Stack of attempt 2").click()),
    ofTask("running", (visitor) =>
      visitor.page.getByRole("region", { name: "Unfinished tasks that it called" }).waitFor(),
    ),
    ofTask("asks", async ({ page }) => {
      await page.getByRole("form").getByRole("button", { name: "Accept" }).click();
      await page.getByText("This field is required.").first().waitFor();
    }),
    ofTask("completed", ({ page }) => page.getByRole("button", { name: "Run again…" }).click()),
    ofTask("study", async ({ page }) => {
      await page.getByRole("button", { name: "View report.md" }).click();
      await page.getByRole("region", { name: "File report.md" }).waitFor();
    }),
    { name: "tools", path: "/tools", shown: (visitor) => visitor.row("publish").waitFor() },
    {
      name: "failures",
      path: "/tools?tool=publish",
      shown: (visitor) => visitor.row("The mirror refused").waitFor(),
    },
    { name: "nodes", path: "/nodes", shown: (visitor) => visitor.row("Alive").waitFor() },
    {
      name: "refusals",
      path: "/refusals",
      shown: (visitor) => visitor.row("unauthorized server/discover").waitFor(),
    },
    {
      name: "actions",
      path: "/actions",
      shown: async (visitor) => {
        await visitor.row("Paused").waitFor();
        await visitor.page
          .getByRole("button", { name: /^Resend message / })
          .first()
          .waitFor();
      },
    },
  ];
}

const looks = (["light", "dark"] as const).flatMap((colorScheme) =>
  [1_280, 360].map((width) => ({ colorScheme, width })),
);

it("nothing is in the way of anybody in either theme, wide or narrow", { timeout: 300_000 }, async () => {
  await using receiver = await Receiver.start(answerWith(503));
  const site = await Site.inNewFolder();
  const names = ["main", "of-a-team-with-quite-a-long-name"];
  const node = await site.serve(
    0,
    names.map((name) => hookOf(receiver, { name })),
  );
  const views = viewsOf(await severalTasks(site, node));
  const check = async ({ page }: Visitor, name: string): Promise<void> => {
    for (const { colorScheme, width } of looks) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      const look = `${name}, ${colorScheme}, ${width} px`;
      expect.soft([look, ...(await problemsOf(page))]).toEqual([look]);
    }
  };
  const stranger = await Visitor.open(chromium(), node.origin, { as: "nobody", reducedMotion: true });
  await stranger.logIn("a guess");
  await stranger.page.getByRole("alert").waitFor();
  await check(stranger, "login");

  const visitor = await Visitor.open(chromium(), node.origin, { path: "/tools", reducedMotion: true });
  const { page } = visitor;
  await page.getByRole("button", { name: "Pause quick" }).click();
  await page.getByText("Paused quick. None of its tasks start").waitFor();
  for (const { name, path, shown } of views) {
    await page.goto(visitor.urlOf(path));
    await shown(visitor);
    await check(visitor, name);
  }
});

it("moves nothing for who wants less motion", patience, async () => {
  const site = await Site.inNewFolder();
  const node = await site.serve();
  const views = viewsOf(await severalTasks(site, node)).filter(({ name }) => name !== "actions");
  const visitor = await Visitor.open(chromium(), node.origin, { reducedMotion: true });
  const { page } = visitor;
  for (const { name, path, shown } of views) {
    await page.goto(visitor.urlOf(path));
    await shown(visitor);
    const moving = await page.evaluate<string[]>(`
      [...document.querySelectorAll("*")].flatMap((element) => [null, "::before", "::after", "::backdrop"].map((part) => getComputedStyle(element, part)))
        .filter(({ animationName, transitionDuration, scrollBehavior }) =>
          animationName !== "none" || !/^0s(, 0s)*$/.test(transitionDuration) || scrollBehavior !== "auto")
        .map(({ animationName, transitionDuration }) => animationName + " " + transitionDuration)`);
    expect([name, ...moving]).toEqual([name]);
  }
});
