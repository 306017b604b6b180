/**
 * What scenarios need of the suite's `src/types.ts` and `src/connection/index.ts`, by its names and with its fields. Given upstream, a scenario imports
 * those instead of this file.
 */
export type CheckStatus = "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";

export interface SpecReference {
  id: string;
  url?: string;
}

export interface ConformanceCheck {
  id: string;
  name: string;
  description: string;
  status: CheckStatus;
  timestamp: string;
  specReferences?: SpecReference[];
  details?: Record<string, unknown>;
  errorMessage?: string;
}

export type ScenarioSource = { introducedIn: string; removedIn?: string } | { extensionId: string };

export interface RunContext {
  serverUrl: string;
  specVersion: string;
}

export interface ClientScenario {
  name: string;
  description: string;
  source: ScenarioSource;
  run(ctx: RunContext): Promise<ConformanceCheck[]>;
}
