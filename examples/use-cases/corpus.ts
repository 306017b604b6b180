import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** A paragraph of a document. */
export interface Passage {
  readonly document: string;
  readonly title: string;
  readonly text: string;
  /** How well it fits a search, by BM25. */
  readonly score: number;
}

interface Indexed extends Omit<Passage, "score"> {
  readonly words: readonly string[];
}

/** How much a repeated word adds, and how much long passages are penalised: the usual values of BM25. */
const [repeated, byLength] = [1.2, 0.75];

const ignored = new Set(
  "and are because does for from get gets has how its the that there was were what when which why with".split(
    " ",
  ),
);

/** The documents of a folder, Markdown files, with an index of their words. */
export class Corpus {
  readonly #passages: readonly Indexed[];
  /** In which passages each word is, and how often. */
  readonly #index = new Map<string, Map<number, number>>();
  readonly #meanLength: number;

  private constructor(passages: readonly Indexed[]) {
    this.#passages = passages;
    for (const [place, { words }] of passages.entries()) {
      for (const word of words) {
        const places = this.#index.get(word) ?? new Map<number, number>();
        this.#index.set(word, places.set(place, (places.get(place) ?? 0) + 1));
      }
    }
    this.#meanLength =
      passages.reduce((sum, { words }) => sum + words.length, 0) / Math.max(1, passages.length);
  }

  static async read(folder: string): Promise<Corpus> {
    const files = (await readdir(folder)).filter((file) => file.endsWith(".md")).toSorted();
    const documents = await Promise.all(
      files.map(async (file) => {
        const [heading = file, ...paragraphs] = (await readFile(join(folder, file), "utf8"))
          .trim()
          .split(/\n\n+/);
        const title = heading.replace(/^# /, "");
        return paragraphs.map((text) => ({
          document: file,
          title,
          text,
          words: wordsOf(`${title} ${text}`),
        }));
      }),
    );
    return new Corpus(documents.flat());
  }

  /** The text of a document; undefined if none has this name. */
  text(document: string): string | undefined {
    const passages = this.#passages.filter((passage) => passage.document === document);
    return passages.length === 0 ? undefined : passages.map(({ text }) => text).join("\n\n");
  }

  /** The passages that fit best, of one document or of all. */
  search(query: string, { document, limit = 5 }: { document?: string; limit?: number } = {}): Passage[] {
    const scores = new Map<number, number>();
    for (const word of new Set(wordsOf(query))) {
      const places = this.#index.get(word) ?? new Map<number, number>();
      const rarity = Math.log(1 + (this.#passages.length - places.size + 0.5) / (places.size + 0.5));
      for (const [place, count] of places) {
        const length = (this.#passages[place]?.words.length ?? 0) / this.#meanLength;
        const weight = (count * (repeated + 1)) / (count + repeated * (1 - byLength + byLength * length));
        scores.set(place, (scores.get(place) ?? 0) + rarity * weight);
      }
    }
    return this.#passages
      .map(({ words: _, ...passage }, place) => ({ ...passage, score: scores.get(place) ?? 0 }))
      .filter((passage) => passage.score > 0 && (document === undefined || passage.document === document))
      .toSorted((a, b) => b.score - a.score)
      .slice(0, limit);
  }
}

function wordsOf(text: string): string[] {
  const words = text.toLowerCase().match(/\p{L}{3,}|\d+/gu) ?? [];
  return words.filter((word) => !ignored.has(word)).map((word) => word.replace(/(?<=\p{L}{3})s$/u, ""));
}
