import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { HoldfastError } from "../../../task/fault.ts";
import { escapeHtml } from "./escape-html.ts";

/** Where the build puts the page: beside the bundle that this is part of. */
const folder = new URL(
  import.meta.url.endsWith(".ts") ? "../../../../dist/dashboard/" : "./dashboard/",
  import.meta.url,
);

const contentTypes = {
  "app.js": "text/javascript; charset=utf-8",
  "app.css": "text/css; charset=utf-8",
} as const;

type AssetName = keyof typeof contentTypes;

interface Asset {
  readonly content: Uint8Array<ArrayBuffer>;
  readonly etag: string;
  /** Made by the first request that takes it. */
  gzipped?: Uint8Array<ArrayBuffer>;
}

/** What is served of the page: its HTML, one script and one style sheet. */
export class PageFiles {
  readonly #html: string;
  readonly #assets = new Map<string, Asset>();

  /** Throws `configuration` if the page was not built. */
  constructor(path: string) {
    this.#html = read("index.html").toString("utf8").replaceAll("%BASE%", escapeHtml(path));
    for (const name of Object.keys(contentTypes)) {
      const content = read(name);
      // Weak, since it is that of the compressed form, too.
      const etag = `W/"${createHash("sha256").update(content).digest("base64url")}"`;
      this.#assets.set(name, { content, etag });
    }
  }

  isAsset(name: string): name is AssetName {
    return this.#assets.has(name);
  }

  page({ method }: Request): Response {
    const headers = { "Content-Type": "text/html; charset=utf-8" };
    return new Response(method === "HEAD" ? null : this.#html, { headers });
  }

  asset(name: AssetName, { method, headers: asked }: Request): Response {
    const asset = this.#assets.get(name);
    if (asset === undefined) throw new Error(`The dashboard has no file ${name}.`);
    const headers = new Headers({
      // The browser asks each time, and gets it only if it has changed.
      "Cache-Control": "private, no-cache",
      ETag: asset.etag,
      Vary: "Accept-Encoding",
    });
    const known = (asked.get("if-none-match") ?? "").split(/\s*,\s*/);
    if (known.includes(asset.etag)) return new Response(null, { status: 304, headers });
    headers.set("Content-Type", contentTypes[name]);
    const zipped = takesGzip(asked.get("accept-encoding") ?? "");
    if (zipped) headers.set("Content-Encoding", "gzip");
    const content = zipped ? (asset.gzipped ??= gzipSync(asset.content)) : asset.content;
    return new Response(method === "HEAD" ? null : content, { headers });
  }
}

function takesGzip(accepted: string): boolean {
  return /(?:^|,)\s*(?:gzip|\*)\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))/i.test(accepted);
}

function read(name: string): Buffer<ArrayBuffer> {
  try {
    return readFileSync(new URL(name, folder));
  } catch (cause) {
    const message = `The dashboard's file dist/dashboard/${name} is missing from the holdfast package. In a clone, run npm run build; if you bundle your server, leave holdfast out of the bundle.`;
    throw new HoldfastError("configuration", message, { cause });
  }
}
