import { expect, it } from "vitest";
import { fileName } from "../../../src/cli/output/save-content.ts";

it.each([
  // What a server calls it, and its type.
  ["report.pdf", "application/pdf", "report.pdf"],
  ["file:///srv/data/report.pdf", "application/pdf", "report.pdf"],
  ["https://example.com/a/photo.JPEG?size=2#top", "image/jpeg", "photo.JPEG"],
  ["demo://resource/dynamic/text/1", "text/plain", "1.txt"],
  ["my%20notes.md", "text/plain", "my notes.md"],
  ["100%.csv", "text/csv", "100%.csv"],
  ["urn:isbn:123", undefined, "123"],
  [undefined, "image/png", "image.png"],
  ["", "image/png; charset=x", "image.png"],
  ["data", "application/x-unknown", "data"],
  ["data.zst", "application/x-unknown", "data.zst"],
  ["data", "application/octet-stream", "data.bin"],
  ["東京", "text/csv", "東京.csv"],
  // An ending that would make something else of it.
  ["picture.exe", "image/png", "picture.exe.png"],
  ["page.html", "application/pdf", "page.html.pdf"],
  // What leads elsewhere, hides, or means something to a system.
  ["../../etc/passwd", undefined, "passwd"],
  ["..", "image/png", "image.png"],
  ["file:///a/..%2f..%2fevil.sh", undefined, "_.._evil.sh"],
  ["..\\..\\evil.bat", undefined, "evil.bat"],
  ["C:\\Windows\\win.ini", undefined, "win.ini"],
  [".bashrc", undefined, "bashrc"],
  ["...", undefined, "image"],
  ["-rf", undefined, "rf"],
  ["a\u0000b\u001b[31m\u202ec.txt", "text/plain", "a_b_[31m_c.txt"],
  ["file:///CON", undefined, "_CON"],
  ["nul.txt", "text/plain", "_nul.txt"],
  ["stream.txt:hidden", undefined, "hidden"],
  ["trailing. ", undefined, "trailing"],
  ["x".repeat(500), "image/png", `${"x".repeat(60)}.png`],
])("%s of %s", (named, mimeType, name) => {
  const { stem, ending } = fileName(named, mimeType, "image");
  expect(ending === "" ? stem : `${stem}.${ending}`).toBe(name);
});
