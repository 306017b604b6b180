import { expect, it } from "vitest";
import { chromiumOfFile, patience } from "./chromium-of-file.ts";
import { Site } from "./site.ts";
import { Visitor } from "./visitor.ts";

const chromium = chromiumOfFile();

it(
  "shows an operator who may look nothing that acts, and refuses what he sends all the same",
  patience,
  async () => {
    const site = await Site.inNewFolder();
    const node = await site.serve();
    const id = await node.start("deploy", "the site");
    await node.start("publish", "june");
    const visitor = await Visitor.open(chromium(), node.origin, { as: "read" });
    const { page } = visitor;
    await page.getByText("ravi (read only)").waitFor();
    const harmless =
      /^(Theme: .*|Log out|All|(Queued|Waiting|Running|Blocked|Needs input|Completed|Failed|Cancelled) .*|Copy.*|15 min|1 h|6 h|Most failures|Most time|)$/;
    const acting = async (): Promise<string[]> =>
      (await page.getByRole("button").allInnerTexts()).filter((name) => !harmless.test(name));

    await visitor.row(id).waitFor();
    expect(await acting()).toEqual([]);
    await page.getByRole("link", { name: id }).click();
    await page.getByText("Where does the site go?").waitFor();
    expect(await acting()).toEqual([]);
    expect(await page.getByRole("form").count()).toBe(0);
    for (const name of ["Tools", "Nodes", "Refusals", "Actions"]) {
      await page.getByRole("link", { name, exact: true }).click();
      await visitor.heading(name).waitFor();
      if (name === "Tools") await visitor.row("publish").waitFor();
      expect([name, await acting()]).toEqual([name, []]);
    }

    const { csrf } = (await (await page.request.get(visitor.urlOf("/session"))).json()) as { csrf: string };
    const refused = await page.request.post(visitor.urlOf(`/api/tasks/${id}/cancel`), {
      headers: { "X-CSRF-Token": csrf },
      data: { actor: "ravi" },
    });
    expect(refused.status()).toBe(403);
  },
);
