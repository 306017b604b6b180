import { nodeVersionProblem } from "../task/package.ts";

// Ends a program on a Node that cannot run it with one line. It is loaded before the program's own first line, which would get a stack
// trace instead, and only where there is something to say does it act.
const problem = nodeVersionProblem(process.versions.node);
if (problem !== undefined) {
  console.error(problem);
  process.exit(70);
}
