import { expect, test } from "vitest";
import { assertNodeVersion, nodeVersionProblem } from "../../src/task/package.ts";

test.each(["22.18.0", "v22.18.0", "22.19.1", "23.0.0", "24.0.0-nightly20250101", "100.0.0"])(
  "%s will do",
  (version) => {
    expect(nodeVersionProblem(version)).toBeUndefined();
  },
);

test.each(["22.17.9", "v22.2.0", "21.20.0", "20.19.5", "9.99.0", "unknown"])(
  "%s is refused in one line",
  (version) => {
    const problem = nodeVersionProblem(version);
    expect(problem).toContain("22.18");
    expect(problem).toContain(version.replace("v", ""));
    expect(problem).not.toContain("\n");
  },
);

test("the Node that runs the tests will do", () => {
  expect(() => assertNodeVersion(process.versions.node)).not.toThrow();
});
