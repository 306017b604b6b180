import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that run for long, and whose size does not show it: what begins the first run of a clean clone. */
const long = [
  // It collects the garbage of all its process again and again, which takes ten times as long once other files have filled that.
  "/test/client/watch-lifetime.test.ts",
  "/test/contract/",
  "/test/runtime/one-history.test.ts",
  "/test/runtime/many-deploys.test.ts",
  "/test/runtime/random-worlds.test.ts",
  "/test/fuzz/guided.test.ts",
  "/test/cli/screens/",
  "/test/model/",
  "/test/peers/",
  "/test/conformance/",
  "/test/crash/",
  "/test/browser/many-tasks.test.ts",
  "/test/cli/init.test.ts",
  "/test/bench/",
];

/**
 * Begins with the files that take longest, one project after the other, since a worker serves one project. Where vitest has not seen a file run
 * before, as in a clean clone, it takes its size for its time, and the end of a run would be a wait for the long ones.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = [...new Set(files.map(({ project }) => project))];
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = long.findIndex((part) => moduleId.includes(part));
      return place === -1 ? long.length : place;
    };
    const turn = ({ project }: TestSpecification): number => projects.indexOf(project);
    return sorted.toSorted((one, other) => turn(one) - turn(other) || rank(one) - rank(other));
  }
}
