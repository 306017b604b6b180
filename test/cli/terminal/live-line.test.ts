import { Writable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LiveLine } from "../../../src/cli/terminal/live-display.ts";
import { Screen } from "./screen.ts";

/** A terminal's stream that ends on a screen. */
class Tty extends Writable {
  readonly isTTY = true;
  columns = 20;
  rows = 5;
  raw = "";
  readonly screen = new Screen(20, 5);
  #written: Promise<void> = Promise.resolve();

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.raw += chunk.toString();
    this.#written = this.screen.write(chunk.toString());
    done();
  }

  resizeTo(columns: number): void {
    this.columns = columns;
    this.screen.resize(columns, 5);
    this.emit("resize");
  }

  /** What is seen once all that was written is there. */
  async shown(): Promise<string> {
    await this.#written;
    return this.screen.text;
  }
}

const signals = ["exit", "SIGTSTP", "SIGCONT"] as const;
const listeners = (): number[] => signals.map((name) => process.listenerCount(name));

describe("a live line", () => {
  let tty: Tty;
  let line: LiveLine;
  let text: string;
  let before: number[];
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    before = listeners();
    tty = new Tty();
    text = "first";
    line = new LiveLine(tty as unknown as NodeJS.WriteStream, (_columns, frame) => `${frame} ${text}`);
  });
  afterEach(() => {
    line.end();
    vi.useRealTimers();
    expect(listeners()).toEqual(before);
    expect(tty.listenerCount("resize")).toBe(0);
  });

  it("is redrawn in place, below permanent lines", async () => {
    line.begin();
    expect(await tty.shown()).toBe("0 first");
    text = "2nd";
    line.draw();
    line.print("this stays");
    vi.advanceTimersByTime(300);
    expect(await tty.shown()).toBe("this stays\n3 2nd");
    expect(tty.screen.cursor).toEqual({ x: 0, y: 1 });
    line.end();
    expect(await tty.shown()).toBe("this stays");
    expect(tty.raw.endsWith("\u001b[?25h")).toBe(true);
  });

  it("stays one line for wide text and after a resize", async () => {
    text = "👩‍👩‍👧".repeat(20);
    line.begin();
    line.draw();
    await tty.shown();
    expect(tty.screen.cursor).toEqual({ x: 0, y: 0 });
    text = "a".repeat(18);
    line.draw();
    await tty.shown();
    tty.resizeTo(8);
    text = "short";
    line.draw();
    expect(await tty.shown()).toBe("0 short");
  });

  it("is hidden while suspended, and prints delayed lines afterwards", async () => {
    line.begin();
    {
      using _outer = line.suspend();
      {
        using _inner = line.suspend();
        line.print("later");
        line.begin();
        vi.advanceTimersByTime(1_000);
      }
      tty.write("a prompt\r\n");
      expect(await tty.shown()).toBe("a prompt");
      expect(listeners()).toEqual(before);
    }
    expect(await tty.shown()).toBe("a prompt\nlater\n0 first");
  });

  it("is hidden before it begins, while paused, and after its end", async () => {
    line.draw();
    expect(await tty.shown()).toBe("");
    line.begin();
    line.pause();
    line.print("said in the pause");
    vi.advanceTimersByTime(1_000);
    expect(await tty.shown()).toBe("said in the pause");
    line.begin();
    expect(await tty.shown()).toBe("said in the pause\n0 first");
    line.end();
    line.begin();
    line.print("the end");
    expect(await tty.shown()).toBe("said in the pause\nthe end");
  });
});
