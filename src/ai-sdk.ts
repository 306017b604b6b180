export { aiTools, withResult } from "./host/ai-sdk.ts";
