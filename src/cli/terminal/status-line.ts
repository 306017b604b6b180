import widthOf from "fast-string-truncated-width";

/** What the live line shows. Texts are sanitized and have no newlines. */
export interface Status {
  /** The activity: "connecting to reports", "render_report". */
  readonly what: string;
  /** The server's message, if any. */
  readonly message?: string | undefined;
  readonly progress?: number | undefined;
  readonly total?: number | undefined;
  readonly elapsedMs: number;
}

interface StatusLineOptions {
  /** The width of the terminal in cells. */
  readonly columns: number;
  /** Incremented with each drawing. */
  readonly frame: number;
  /** Whether the terminal shows more than ASCII. */
  readonly unicode: boolean;
  readonly paint: (format: "cyan" | "dim", text: string) => string;
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

const spinners = { unicode: "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", ascii: "-\\|/" } as const;

/**
 * One line that fits into a row. Leaves the last cell free, since some terminals wrap there. Drops parts that do
 * not fit, in this order: the message's end, the bar, the message, the activity's end.
 */
export function statusLine(status: Status, { columns, frame, unicode, paint }: StatusLineOptions): string {
  const room = Math.max(0, columns - 1);
  const frames = unicode ? spinners.unicode : spinners.ascii;
  const spinner = frames[frame % frames.length] ?? "";
  const elapsed = duration(status.elapsedMs);
  const parts = [
    status.what,
    ...progressOf(status, unicode, room >= 50),
    ...(status.message ? [status.message] : []),
  ];
  const body = fit(parts.join(unicode ? " · " : " - "), room - spinner.length - elapsed.length - 2, unicode);
  if (body === "") return fit(elapsed, room, unicode);
  return `${paint("cyan", spinner)} ${body} ${paint("dim", elapsed)}`;
}

/** `text`, cut to `cells` with an ellipsis. */
export function fit(text: string, cells: number, unicode: boolean): string {
  if (cells <= 0) return "";
  if (!widthOf(text, { limit: cells }).truncated) return text;
  const ellipsis = unicode ? "…" : "...";
  if (ellipsis.length > cells) return "";
  let kept = "";
  let room = cells - ellipsis.length;
  // The library's own cut position is wrong after some scripts.
  for (const { segment } of graphemes.segment(text)) {
    room -= widthOf(segment).width;
    if (room < 0) break;
    kept += segment;
  }
  return `${kept}${ellipsis}`;
}

/** "7s", "3m 05s", "2h 05m", "3d 02h". */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const pair = (high: number, unit: string, low: number, lowUnit: string): string =>
    `${high}${unit} ${String(low).padStart(2, "0")}${lowUnit}`;
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return pair(minutes, "m", seconds % 60, "s");
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return pair(hours, "h", minutes % 60, "m");
  return pair(Math.floor(hours / 24), "d", hours % 24, "h");
}

const barCells = 16;

function progressOf({ progress, total }: Status, unicode: boolean, hasRoom: boolean): readonly string[] {
  if (progress === undefined || !Number.isFinite(progress)) return [];
  // A fraction of an unknown total is useless: servers count like this to show that they are working.
  if (total === undefined || !Number.isFinite(total) || total <= 0)
    return Number.isInteger(progress) ? [String(progress)] : [];
  const part = Math.min(1, Math.max(0, progress / total));
  const percent = `${Math.floor(part * 100)}%`;
  if (!hasRoom) return [percent];
  const full = Math.floor(part * barCells);
  const [on, off] = unicode ? ["█", "░"] : ["#", "-"];
  return [`${on.repeat(full)}${off.repeat(barCells - full)} ${percent}`];
}
