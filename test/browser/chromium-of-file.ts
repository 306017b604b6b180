import type { Browser } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { startChromium } from "./chromium.ts";

/** For a busy machine; a test takes seconds. */
export const patience = { timeout: 120_000 } as const;

/** One Chromium for the tests of a file; each has windows of its own, which know nothing of those of others. */
export function chromiumOfFile(): () => Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await startChromium();
  });
  afterAll(() => browser?.close());
  return () => {
    if (browser === undefined) throw new Error("Chromium runs in tests alone.");
    return browser;
  };
}
