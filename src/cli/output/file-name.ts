/** The endings of files of a type; the first is the one that a file gets. */
const endings: Readonly<Record<string, readonly string[]>> = {
  "application/gzip": ["gz", "tgz"],
  "application/json": ["json"],
  "application/pdf": ["pdf"],
  "application/xml": ["xml"],
  "application/yaml": ["yaml", "yml"],
  "application/zip": ["zip"],
  "audio/aac": ["aac"],
  "audio/flac": ["flac"],
  "audio/mp4": ["m4a", "mp4"],
  "audio/mpeg": ["mp3"],
  "audio/ogg": ["ogg", "oga", "opus"],
  "audio/wav": ["wav"],
  "audio/webm": ["webm"],
  "audio/x-wav": ["wav"],
  "image/avif": ["avif"],
  "image/bmp": ["bmp"],
  "image/gif": ["gif"],
  "image/jpeg": ["jpg", "jpeg"],
  "image/png": ["png"],
  "image/svg+xml": ["svg"],
  "image/tiff": ["tiff", "tif"],
  "image/webp": ["webp"],
  "text/css": ["css"],
  "text/csv": ["csv"],
  "text/html": ["html", "htm"],
  "text/javascript": ["js", "mjs"],
  "text/markdown": ["md", "markdown"],
  "text/xml": ["xml"],
  "video/mp4": ["mp4", "m4v"],
  "video/webm": ["webm"],
};

/** Types that say little: a file keeps the ending that it has. */
const vague: Readonly<Record<string, string>> = { "text/plain": "txt", "application/octet-stream": "bin" };

/** Longer ones are cut: file systems take 255 bytes, and a number may follow. */
const longest = 60;

/** Devices of Windows, whatever ending they have. */
const devices = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/**
 * A name for a file of what a server sent, which is in the folder that it is put into and hidden nowhere: `named` is what the
 * server calls it, a name or a URI, `kind` what it is called otherwise. The type decides its ending.
 */
export function fileName(
  named: string | undefined,
  mimeType: string | undefined,
  kind: string,
): { readonly stem: string; readonly ending: string } {
  const last = safe(lastPart(named ?? ""));
  const { stem = "", ending = "" } = /^(?<stem>.+)\.(?<ending>[A-Za-z0-9]{1,10})$/.exec(last)?.groups ?? {
    stem: last,
  };
  const type = (mimeType ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  const usual = endings[type] ?? [];
  const isFitting = usual.length === 0 ? ending !== "" : usual.includes(ending.toLowerCase());
  const whole = isFitting || ending === "" ? stem : last;
  const base = whole.slice(0, longest).toWellFormed() || kind;
  return {
    stem: devices.test(base) ? `_${base}` : base,
    ending: isFitting ? ending : (usual[0] ?? vague[type] ?? ""),
  };
}

/** The last part of a path or a URI, without its query. */
function lastPart(named: string): string {
  const path = /^[a-z][a-z\d+.-]*:/i.test(named) ? named.replace(/[?#].*$/s, "") : named;
  const part = path.split(/[/\\:]/).findLast((each) => each !== "") ?? "";
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Without what leads elsewhere, hides a file, or cannot be in a name. */
function safe(name: string): string {
  return name.replace(/[\p{C}\p{Zl}\p{Zp}/\\:*?"<>|]+/gu, "_").replace(/^[.\s-]+|[.\s]+$/g, "");
}
