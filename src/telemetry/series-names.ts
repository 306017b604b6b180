import type { Attributes, BatchObservableResult, Observable } from "@opentelemetry/api";
import { attribute } from "./spans.ts";

/**
 * The names that series of metrics are told apart by. Tools come and go, and servers give their tools any names, but an SDK keeps each series
 * that it has once reported, for as long as the process lives.
 * - A name that has its own series keeps it: a counter never goes back.
 * - Names beyond the limit are counted together.
 */
export class SeriesNames {
  readonly #most: number;
  readonly #names = new Set<string>();

  constructor(most: number) {
    this.#most = most;
  }

  of(name: string): string {
    if (this.#names.size < this.#most) this.#names.add(name);
    return this.#names.has(name) ? name : otherNames;
  }
}

/** As OpenTelemetry's conventions call values that are not told apart. */
const otherNames = "_OTHER";

/** A number for each tool. Reports 0 for a tool that had another number before, because an SDK repeats the last one. */
export class ByTool {
  readonly instrument: Observable;
  readonly #tools = new Set<string>();

  constructor(instrument: Observable) {
    this.instrument = instrument;
  }

  observe(result: BatchObservableResult, numbers: ReadonlyMap<string, number>, more?: Attributes): void {
    for (const tool of numbers.keys()) this.#tools.add(tool);
    for (const tool of this.#tools)
      result.observe(this.instrument, numbers.get(tool) ?? 0, { ...more, [attribute.tool]: tool });
  }
}
