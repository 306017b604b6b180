import { BaseSequencer, type TestSpecification } from "vitest/node";

/** It collects the garbage of all its process again and again, which takes ten times as long once other files have filled that. */
const first = "/test/client/watch-lifetime.test.ts";

/** Short files that run for long. */
const long = ["/test/contract/", "/test/model/", "/test/bench/", "/test/fuzz/guided.test.ts"];

/**
 * Begins with the files that take longest. Where vitest has not seen a file run before, as in a clean clone, it takes its size for its time, and the
 * end of a run would be a wait for these.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => long.some((part) => moduleId.includes(part));
    const isFirst = ({ moduleId }: TestSpecification): boolean => moduleId.includes(first);
    const rank = (file: TestSpecification): number => (isFirst(file) ? 0 : isLong(file) ? 1 : 2);
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}
