export { serveStdio } from "./server/stdio/serve-stdio.ts";
export type { StdioOptions, StdioServer } from "./server/stdio/serve-stdio.ts";
