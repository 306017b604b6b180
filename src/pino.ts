export { pinoEvents } from "./runtime/events/pino-events.ts";
export type { PinoEventsOptions } from "./runtime/events/pino-events.ts";
