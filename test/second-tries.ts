import type { Reporter, TestCase, TestModule } from "vitest/node";

/** Names the tests at the end of a run that passed only at their second try. Each shows a fault, of the test or of what it tests. */
export class SecondTries implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap(({ children }) => [...children.allTests()].filter(isFlaky));
    if (tests.length === 0) return;
    process.stdout.write(`\nPassed only at the second try:\n${tests.map(shown).join("")}`);
  }
}

function isFlaky(test: TestCase): boolean {
  return test.diagnostic()?.flaky === true;
}

function shown(test: TestCase): string {
  const [error] = test.result().errors ?? [];
  const [at] = error?.stacks ?? [];
  const why = error?.message.split("\n", 1)[0] ?? "";
  return `  ${test.module.relativeModuleId} > ${test.fullName}\n    ${why}${at === undefined ? "" : ` (${at.file}:${at.line})`}\n`;
}
