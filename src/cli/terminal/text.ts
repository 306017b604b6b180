import { stripVTControlCharacters } from "node:util";
import widthOf from "fast-string-truncated-width";

/** Characters at which some terminals break a line. */
const lineBreaks = /\r\n?|[\u0085\u2028\u2029]/g;

/** Control characters and text direction overrides: replaced by a visible mark, since they may be an attack. */
const controls = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Invisible characters that can hide text. Joiners are kept: emoji and several scripts need them. */
const shapeless =
  /[\u00ad\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e007f}]/gu;

const mark = "\ufffd";

/**
 * Makes a server's text safe for a terminal: keeps newlines and tabs, removes escape sequences, and replaces other
 * control characters by a visible mark.
 */
export function sanitizeText(text: string): string {
  const lines = stripVTControlCharacters(text).replace(lineBreaks, "\n").replace(shapeless, "");
  return lines.replace(controls, (control) => (control === "\n" || control === "\t" ? control : mark));
}

/** The same on one line: collapses white space. `longest` is in UTF-16 units. */
export function sanitizeLine(text: string, longest = 1000): string {
  // Cut first: a long text would cost time at each update.
  const line = sanitizeText(text.slice(0, 2 * longest))
    .replace(/\s+/gu, " ")
    .trim();
  return line.length > longest ? `${line.slice(0, longest - 1).toWellFormed()}…` : line;
}

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

/** Clears a line. */
const clear = "\r\u001b[K";

/** A command's progress, in a line that is removed at its end. Shows nothing without a terminal. */
export class Progress implements Disposable {
  readonly #stream: NodeJS.WriteStream;
  readonly #shows: boolean;

  constructor(stream: NodeJS.WriteStream, wanted: boolean) {
    this.#stream = stream;
    this.#shows = wanted && stream.isTTY;
  }

  /** The text must not contain text from others. */
  show(text: string): void {
    if (this.#shows) this.#stream.write(`${clear}${text}`);
  }

  [Symbol.dispose](): void {
    if (this.#shows) this.#stream.write(clear);
  }
}
