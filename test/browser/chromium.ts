import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The system's Chromium, without a window. */
export function startChromium(): Promise<Browser> {
  const executablePath = process.env["HOLDFAST_CHROMIUM"] ?? places.find((place) => existsSync(place));
  if (executablePath === undefined)
    throw new Error("Install Chromium (apt-get install chromium), or name it in HOLDFAST_CHROMIUM.");
  // Nothing of it is to go out, and none of its services is needed; root has no sandbox.
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"];
  return chromium.launch({ executablePath, args });
}
