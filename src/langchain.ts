export { langchainTools, messageOf } from "./host/langchain.ts";
