import { existsSync } from "node:fs";
import axe from "axe-core";
import { chromium, type Browser, type Page } from "playwright-core";

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export function chromiumPath(): string {
  const found = process.env["HOLDFAST_CHROMIUM"] ?? places.find((place) => existsSync(place));
  if (found === undefined)
    throw new Error("Install Chromium (apt-get install chromium), or name it in HOLDFAST_CHROMIUM.");
  return found;
}

/** The system's Chromium, without a window. */
export function startChromium(): Promise<Browser> {
  const executablePath = chromiumPath();
  // Nothing of it is to go out, and none of its services is needed; root has no sandbox.
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"];
  return chromium.launch({ executablePath, args });
}

interface Found {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

/** What is wrong with the page as it is shown, by the rules of axe, or since it is wider than the window. */
export async function problemsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<Found>("axe.run()");
  const beyond = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
  return [
    ...violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary = "" }) => `${id}: ${html}\n${failureSummary}`),
    ),
    ...(beyond > 0 ? [`It is ${beyond} px wider than the window.`] : []),
  ];
}
