export { langchainTools, withResult } from "./host/langchain.ts";
