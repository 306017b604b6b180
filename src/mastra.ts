export { mastraTools, messageOf } from "./host/mastra.ts";
export type { MastraTool } from "./host/mastra.ts";
