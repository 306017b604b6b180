import { expect, it } from "vitest";
import { chromiumOfFile, patience } from "./chromium-of-file.ts";
import { Site } from "./site.ts";
import { Visitor } from "./visitor.ts";

const chromium = chromiumOfFile();

it("is light or dark as the system is, until somebody chooses, which lasts", patience, async () => {
  const site = await Site.inNewFolder();
  const { origin } = await site.serve();
  const { page } = await Visitor.open(chromium(), origin, { theme: "dark" });
  const background = () => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
  const [dark, light] = ["rgb(16, 21, 28)", "rgb(246, 247, 249)"];
  expect(await background()).toBe(dark);
  await page.getByRole("button", { name: "Theme: system" }).click();
  await page.getByRole("button", { name: "Theme: light" }).waitFor();
  expect(await background()).toBe(light);
  await page.reload();
  await page.getByRole("button", { name: "Theme: light" }).click();
  expect(await background()).toBe(dark);
  await page.emulateMedia({ colorScheme: "light" });
  expect(await background()).toBe(dark);
  await page.getByRole("button", { name: "Theme: dark" }).click();
  await page.getByRole("button", { name: "Theme: system" }).waitFor();
  expect(await background()).toBe(light);
});
