import { Session, type Profiler } from "node:inspector";

/**
 * What code did since the last look, by V8's own block coverage: one text for each function that ran, of the blocks in it
 * that did. Only code that is loaded after the start is seen in blocks.
 */
export class Coverage {
  readonly #session = new Session();
  readonly #isWatched: (url: string) => boolean;

  constructor(isWatched: (url: string) => boolean) {
    this.#isWatched = isWatched;
    this.#session.connect();
    this.#session.post("Profiler.enable");
    this.#session.post("Profiler.startPreciseCoverage", { callCount: false, detailed: true });
  }

  take(): readonly string[] {
    let scripts: readonly Profiler.ScriptCoverage[] = [];
    // In the same thread the answer comes before this returns.
    this.#session.post("Profiler.takePreciseCoverage", (error, taken) => {
      if (error !== null) throw error;
      scripts = taken.result;
    });
    return scripts
      .filter(({ url }) => this.#isWatched(url))
      .flatMap(({ scriptId, functions }) =>
        functions.map(({ ranges }) =>
          [
            scriptId,
            ...ranges.map(({ startOffset, endOffset, count }) => `${startOffset}-${endOffset}:${count}`),
          ].join(),
        ),
      );
  }
}
