export { openaiTools, withResult } from "./host/openai-agents.ts";
