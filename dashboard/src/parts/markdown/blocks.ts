import { shownAddress } from "../../../../src/generation/web-address.ts";

// The part of Markdown (GFM) that answers of models and reports are written in. It is read into a tree, which the page shows as elements:
// no text becomes markup. HTML stays the text that it is. The time that a text takes grows with its length alone.

/** What a text has, from top to bottom. Texts in it may have marks of their own (`spansIn`). */
export type Block =
  | { readonly is: "heading"; readonly level: number; readonly text: string }
  | { readonly is: "paragraph" | "code"; readonly text: string }
  | { readonly is: "quote"; readonly blocks: readonly Block[] }
  /** `start`: the number of the first item; null: bullets. */
  | { readonly is: "list"; readonly start: number | null; readonly items: readonly (readonly Block[])[] }
  | { readonly is: "table"; readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] }
  | { readonly is: "rule" };

export type Span =
  | { readonly is: "text" | "code"; readonly text: string }
  | { readonly is: "strong" | "em" | "del"; readonly spans: readonly Span[] }
  /** An image is one too: the page loads nothing from elsewhere. */
  | { readonly is: "link"; readonly text: string; readonly url: string };

/** Quotes and lists in others, which are read again for each. */
const deepest = 8;

const heading = /^ {0,3}(#{1,6})(?:[ \t]+|$)/;
const fence = /^ {0,3}(`{3,}|~{3,})/;
const rule = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const quote = /^ {0,3}> ?/;
const item = /^( {0,3})(?:([-*+])|(\d{1,9})[.)])(?:[ \t]+|$)/;
const dashes = /^[ \t]*:?-+:?[ \t]*$/;

/** Whether a text of no known type seems to be Markdown, by marks that other texts rarely have. */
export function seemsMarkdown(text: string): boolean {
  return /^ {0,3}(?:#{1,6} \S|```)|^\|? *:?-{3,}:? *\||\*\*\w[^*\n]{0,200}\*\*|\]\(https?:/m.test(text);
}

export function blocksIn(text: string): readonly Block[] {
  return new Reader(text.split(/\r?\n/), 0).blocks();
}

class Reader {
  readonly #lines: readonly string[];
  readonly #depth: number;
  #at = 0;

  constructor(lines: readonly string[], depth: number) {
    this.#lines = lines;
    this.#depth = depth;
  }

  blocks(): readonly Block[] {
    const blocks: Block[] = [];
    while (this.#at < this.#lines.length) {
      if (this.#line.trim() === "") this.#at++;
      else blocks.push(this.#block());
    }
    return blocks;
  }

  get #line(): string {
    return this.#lines[this.#at] ?? "";
  }

  #block(): Block {
    const line = this.#line;
    const [, fenced] = fence.exec(line) ?? [];
    if (fenced !== undefined) return this.#code(fenced);
    const [marks, level] = heading.exec(line) ?? [];
    if (marks !== undefined && level !== undefined) {
      this.#at++;
      return { is: "heading", level: level.length, text: line.slice(marks.length).trim() };
    }
    if (rule.test(line)) {
      this.#at++;
      return { is: "rule" };
    }
    if (this.#isTable) return this.#table();
    if (this.#depth < deepest && quote.test(line)) return this.#quote();
    const [, , , number] = item.exec(line) ?? [];
    if (this.#depth < deepest && item.test(line)) return this.#list(number);
    return { is: "paragraph", text: this.#take((each, n) => n === 0 || !this.#begins(each)).join("\n") };
  }

  /** Lines as long as they belong to it. */
  #take(belongs: (line: string, n: number) => boolean): string[] {
    const from = this.#at;
    while (this.#at < this.#lines.length && belongs(this.#line, this.#at - from)) this.#at++;
    return this.#lines.slice(from, this.#at);
  }

  /** Whether something else than the rest of a paragraph is in a line. */
  #begins(line: string): boolean {
    return line.trim() === "" || [heading, fence, rule, quote, item].some((mark) => mark.test(line));
  }

  #code(fenced: string): Block {
    this.#at++;
    const lines = this.#take((line) => !line.trimStart().startsWith(fenced));
    this.#at++;
    return { is: "code", text: lines.join("\n") };
  }

  #quote(): Block {
    const lines = this.#take((line) => quote.test(line)).map((line) => line.replace(quote, ""));
    return { is: "quote", blocks: new Reader(lines, this.#depth + 1).blocks() };
  }

  #list(number: string | undefined): Block {
    const items: (readonly Block[])[] = [];
    for (let found = item.exec(this.#line); found !== null; found = item.exec(this.#line)) {
      const [marks, , , numbered] = found;
      if ((numbered === undefined) !== (number === undefined) || rule.test(this.#line)) break;
      const inside = (line: string): boolean => line.startsWith(" ".repeat(Math.min(marks.length, 2)));
      let isOpen = true;
      const lines = this.#take((line, n) => {
        const belongs = n === 0 || line.trim() === "" || inside(line) || (isOpen && !this.#begins(line));
        isOpen = line.trim() !== "";
        return belongs;
      });
      const cut = (line: string): string => line.slice(Math.min(marks.length, line.search(/[^ ]|$/)));
      const own = [(lines[0] ?? "").slice(marks.length), ...lines.slice(1).map(cut)];
      items.push(new Reader(own, this.#depth + 1).blocks());
    }
    return { is: "list", start: number === undefined ? null : Number(number), items };
  }

  get #isTable(): boolean {
    const below = this.#lines[this.#at + 1];
    if (below === undefined || !this.#line.includes("|") || !below.includes("-")) return false;
    const head = cellsIn(this.#line);
    const marks = cellsIn(below);
    return marks.length === head.length && marks.every((cell) => dashes.test(cell));
  }

  #table(): Block {
    // Short rows stay short: with a cell for each column, a small text with many columns and rows would become millions of cells.
    const [head = [], , ...rows] = this.#take((line) => line.includes("|")).map(cellsIn);
    return { is: "table", head, rows: rows.map((row) => row.slice(0, head.length)) };
  }
}

function cellsIn(line: string): readonly string[] {
  const cells = line.trim().replace(/^\|/, "").split("|");
  if (cells.at(-1)?.trim() === "") cells.pop();
  return cells.map((cell) => cell.trim());
}

/** Each ends with what it may not contain, or soon: no text is read many times. */
const marks =
  /\\(?<escaped>[!-/:-@[-`{-~])|`(?<code>[^`]{1,1000})`|!?\[(?<label>[^[\]]{0,500})\]\((?<url>[^()\s]{1,2000})(?: "[^"]{0,200}")?\)|\*\*(?<strong>[^\s*][^]{0,300}?)\*\*(?!\*)|(?<!\*)\*(?<em>[^*\s][^*]{0,1000})\*|(?<!\w)_(?<under>[^_]{1,1000})_(?!\w)|~~(?<del>[^~]{1,1000})~~|(?<bare>https?:\/\/[^\s<>"'()[\]]{1,2000})/g;

export function spansIn(text: string): readonly Span[] {
  const spans: Span[] = [];
  let from = 0;
  for (const found of text.matchAll(marks)) {
    if (found.index > from) spans.push({ is: "text", text: text.slice(from, found.index) });
    spans.push(spanOf(found.groups ?? {}));
    from = found.index + found[0].length;
  }
  if (from < text.length) spans.push({ is: "text", text: text.slice(from) });
  return spans;
}

function spanOf(groups: Readonly<Record<string, string | undefined>>): Span {
  const { escaped, code, label, url, strong, em, under, del, bare = "" } = groups;
  if (escaped !== undefined) return { is: "text", text: escaped };
  if (code !== undefined) return { is: "code", text: code };
  if (url !== undefined) return linkTo(url, label);
  if (strong !== undefined) return { is: "strong", spans: spansIn(strong) };
  const slanted = em ?? under;
  if (slanted !== undefined) return { is: "em", spans: spansIn(slanted) };
  if (del !== undefined) return { is: "del", spans: spansIn(del) };
  return linkTo(bare);
}

/** What reads like an address is shown as the one that it leads to. */
function linkTo(url: string, label = ""): Span {
  const text = label === "" ? url : label;
  return { is: "link", text: /^\s*(?:https?:|www\.)/i.test(text) ? shownAddress(url) : text, url };
}
