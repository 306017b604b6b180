import { columnsOf, integer, integerOrNull, isNull, text, textOrNull, type Row } from "../row.ts";
import { openedNews } from "../codec.ts";
import type { SessionNews } from "../session-store.ts";
import type { Database } from "./database.ts";
import type { Names } from "./names.ts";
import { newsStatements } from "./session-sql.ts";

/** How long news are kept for late readers (ms). An owner that has not read for half of that rereads everything it holds. */
const keptMs = 60_000;
/** How many rows are read, or deleted, by one statement. */
const mostAtOnce = 1_000;
/** How many numbers can belong to unfinished transactions at a time. */
const mostOnTheirWay = 200;

const lastAt = columnsOf(["now", "seq"]);
const newsAt = columnsOf(["now", "highest", "seq", "owner", "session", "message"]);

/**
 * News about sessions between owners, as rows that each owner reads once. Numbers are assigned before the commit, so a higher one may be
 * visible first: missing ones are requested again, until no transaction with such a number can still be unfinished. News sent by one owner
 * after another's commit have a higher number, and are published after it.
 */
export class SessionNewsReader {
  readonly #database: Database;
  readonly #sql: ReturnType<typeof newsStatements>;
  readonly #owner: string;
  readonly #publish: (news: readonly SessionNews[] | "gap") => void;
  #last = 0;
  /** Numbers below the last one that have not been seen, and when they were first missed. */
  readonly #missing = new Map<number, number>();
  /** Times are those of the database. */
  #readAt = 0;
  #deletedAt = 0;
  #reading: Promise<void> | undefined;
  #readsAgain = false;

  constructor(
    database: Database,
    names: Names,
    owner: string,
    publish: (news: readonly SessionNews[] | "gap") => void,
  ) {
    this.#database = database;
    this.#sql = newsStatements(names);
    this.#owner = owner;
    this.#publish = publish;
  }

  /** Starts with what is committed from now on. */
  async start(): Promise<void> {
    const rows = await this.#database.read(this.#sql.selectLast, [mostOnTheirWay]);
    const now = integer(rows[0] ?? [], lastAt.now);
    this.#readAt = now;
    this.#last = 0;
    this.#missing.clear();
    for (const row of rows) if (!isNull(row, lastAt.seq)) this.#note(integer(row, lastAt.seq), now);
  }

  /** Publishes the news of others. Resolves after everything sent before the call is published. */
  async read(): Promise<void> {
    this.#readsAgain = true;
    this.#reading ??= this.#readAll();
    await this.#reading;
  }

  async #readAll(): Promise<void> {
    try {
      while (this.#readsAgain) {
        this.#readsAgain = false;
        await this.#readSome();
        if (this.#readAt - this.#deletedAt > keptMs / 2) await this.#deleteOld();
      }
    } finally {
      // In the same turn as the last look, so that nobody waits for a finished read.
      this.#reading = undefined;
    }
  }

  async #readSome(): Promise<void> {
    const values = [this.#last, [...this.#missing.keys()], mostAtOnce];
    const rows = await this.#database.read(this.#sql.select, values);
    const [first = []] = rows;
    const now = integer(first, newsAt.now);
    const isLate = now - this.#readAt > keptMs / 2;
    // A copy of the database that has replaced it lacks the last commits.
    const isOlder = (integerOrNull(first, newsAt.highest) ?? this.#last) < this.#last;
    if (isLate || isOlder) {
      await this.start();
      return this.#publish("gap");
    }
    this.#readAt = now;
    const news = rows.filter((row) => !isNull(row, newsAt.seq));
    if (news.length >= mostAtOnce) this.#readsAgain = true;
    for (const row of news) this.#note(integer(row, newsAt.seq), now);
    for (const [seq, since] of this.#missing) if (now - since > keptMs / 2) this.#missing.delete(seq);
    this.#publish(this.#ofOthers(news));
  }

  /** Records a number as seen, and the unseen ones before it as missing. */
  #note(seq: number, now: number): void {
    this.#missing.delete(seq);
    const from = Math.max(this.#last + 1, seq - mostOnTheirWay);
    for (let missed = from; missed < seq; missed++) this.#missing.set(missed, now);
    this.#last = Math.max(this.#last, seq);
  }

  #ofOthers(rows: readonly Row[]): readonly SessionNews[] | "gap" {
    const others = rows.filter((row) => row[newsAt.owner.place] !== this.#owner);
    try {
      return others.map((row) => {
        const news = { id: text(row, newsAt.session), message: textOrNull(row, newsAt.message) };
        return openedNews(news, this.#database.codecs.reading);
      });
    } catch {
      return "gap"; // a damaged row may be about any session
    }
  }

  async #deleteOld(): Promise<void> {
    this.#deletedAt = this.#readAt;
    let deleted = mostAtOnce;
    while (deleted === mostAtOnce) {
      deleted = (await this.#database.query(this.#sql.deleteOld, [keptMs, mostAtOnce])).length;
    }
  }
}
