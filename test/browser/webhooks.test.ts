import { expect, it } from "vitest";
import { hookOf } from "../webhooks/hooked-process.ts";
import { Receiver } from "../webhooks/receiver.ts";
import { chromiumOfFile, patience } from "./chromium-of-file.ts";
import { Site } from "./site.ts";
import { Visitor } from "./visitor.ts";

const chromium = chromiumOfFile();

it(
  "lists what webhooks refuse, and resends a chosen message without moving the operator elsewhere",
  patience,
  async () => {
    const accepted = new Set<string>();
    await using receiver = await Receiver.start(({ data, answer }) => {
      answer.writeHead(accepted.has(String(data["taskId"])) ? 204 : 503).end();
    });
    const site = await Site.inNewFolder();
    const events = ["task.completed"] as const;
    const node = await site.serve(0, [
      hookOf(receiver, { events }),
      hookOf(receiver, { events, name: "x".repeat(32) }),
    ]);
    const [chosen, other] = [await node.start("quick", "one"), await node.start("quick", "two")];
    const visitor = await Visitor.open(chromium(), node.origin, { path: "/actions" });
    const { page } = visitor;
    const messages = page.getByRole("group", { name: "Undelivered messages" });
    const rowOf = (id: string) =>
      messages.getByRole("row").filter({ has: page.getByRole("rowheader", { name: id }) });
    await page.getByRole("rowheader", { name: "main" }).waitFor();
    await page.getByRole("combobox", { name: "Webhook" }).selectOption("main");
    await page.getByRole("button", { name: "All", exact: true }).click();
    const refused = new RegExp(`^${other} completed main quick .* in \\d.* HTTP 503 `);
    await messages.getByRole("row", { name: refused }).waitFor();
    const row = rowOf(chosen).filter({ hasText: "503" });
    await row.waitFor();
    // Not before: a try that is due would come first.
    await page.route(/resend/, async (route) => {
      accepted.add(chosen);
      await route.continue();
    });
    await row.getByRole("button", { name: /^Resend message \d+ to main, about task / }).click();
    await page.getByText("1 message will be resent to main within a minute.").waitFor();
    await visitor.row("Resent a webhook's messages: main").waitFor();
    await rowOf(chosen).waitFor({ state: "detached" });
    await rowOf(other).waitFor();
    expect(await page.getByRole("combobox", { name: "Webhook" }).inputValue()).toBe("main");
    expect(await page.getByRole("button", { name: "All", exact: true }).getAttribute("aria-pressed")).toBe(
      "true",
    );

    await page.getByRole("button", { name: "Given up" }).click();
    await page.getByText("No such messages.").waitFor();
  },
);
