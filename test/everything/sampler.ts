import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  type Sampler,
} from "@opentelemetry/sdk-trace";

/** By OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG, as OpenTelemetry has them. Throws an error that names the variable and says what it takes. */
export function samplerFrom(env: Readonly<Record<string, string | undefined>>): Sampler {
  const { OTEL_TRACES_SAMPLER = "parentbased_always_on", OTEL_TRACES_SAMPLER_ARG = "1" } = env;
  const name = OTEL_TRACES_SAMPLER.toLowerCase();
  const root = rootOf(name.replace(/^parentbased_/, ""), OTEL_TRACES_SAMPLER_ARG);
  if (root === undefined) {
    throw new Error(
      `OTEL_TRACES_SAMPLER is ${JSON.stringify(OTEL_TRACES_SAMPLER)}. Give always_on, always_off or traceidratio, or one of them after parentbased_.`,
    );
  }
  return name.startsWith("parentbased_") ? new ParentBasedSampler({ root }) : root;
}

function rootOf(name: string, argument: string): Sampler | undefined {
  if (name === "always_on") return new AlwaysOnSampler();
  if (name === "always_off") return new AlwaysOffSampler();
  return name === "traceidratio" ? new TraceIdRatioBasedSampler(ratioOf(argument)) : undefined;
}

function ratioOf(text: string): number {
  const ratio = Number(text);
  if (text.trim() !== "" && ratio >= 0 && ratio <= 1) return ratio;
  throw new Error(`OTEL_TRACES_SAMPLER_ARG is ${JSON.stringify(text)}. Give a number from 0 to 1.`);
}
